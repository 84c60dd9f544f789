//! The whole way of a request, without a socket.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

#[tokio::test]
async fn a_message_is_put_and_got() {
    let queues = support::service().await;
    assert_eq!(queues.call("PUT", "/jobs", &[], b"").await.verdict(), (201, ""));
    let message = b"<QueueMessage><MessageText>hello</MessageText></QueueMessage>";
    assert_eq!(queues.call("POST", "/jobs/messages", &[], message).await.verdict(), (201, ""));
    let got = queues.call("GET", "/jobs/messages", &[], b"").await;
    assert_eq!((got.status, got.element("MessageText").as_deref()), (200, Some("hello")), "{got:?}");
}
