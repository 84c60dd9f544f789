//! Put, Get, Peek, Update, Delete and Clear Messages.

use http::{HeaderName, StatusCode};
use queue::{
    message::{DeleteMessage, GetMessages, MessageId, PeekMessages, PutMessage, UpdateMessage},
    queue::ClearMessages,
};
use rest::{Caller, Request, Response, ServiceError, dates};

use crate::{QueueService, errors, names, parameters, xml};

const POP_RECEIPT: HeaderName = HeaderName::from_static("x-ms-popreceipt");
const TIME_NEXT_VISIBLE: HeaderName = HeaderName::from_static("x-ms-time-next-visible");

pub(crate) async fn put(
    service: &QueueService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let (address, times) = (names::address(caller, &request)?, parameters::put_times(&request, caller.version)?);
    let operation = PutMessage {
        address,
        id: MessageId::from_random(service.random()?),
        receipt: service.random()?,
        times,
        text: xml::message_text(&mut request.body, caller.known()?).await?,
    };
    let (properties, hold) = service.queues.put_message(&caller.ask(operation)).await.map_err(errors::of)?;
    let response = Response::new(StatusCode::CREATED);
    // Before, the answer said nothing about the message.
    Ok(if caller.version.at_least(2016, 5, 31) { response.xml(xml::put_message(&properties, &hold)) } else { response })
}

pub(crate) async fn get(service: &QueueService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let operation = GetMessages {
        address: names::address(caller, request)?,
        number: parameters::number_of_messages(request)?,
        timeout: parameters::get_timeout(request)?,
        receipt: service.random()?,
    };
    let got = service.queues.get_messages(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::OK).xml(xml::got_messages(&got)))
}

pub(crate) async fn peek(service: &QueueService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let operation =
        PeekMessages { address: names::address(caller, request)?, number: parameters::number_of_messages(request)? };
    let peeked = service.queues.peek_messages(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::OK).xml(xml::peeked_messages(&peeked)))
}

pub(crate) async fn update(
    service: &QueueService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let operation = UpdateMessage {
        address: names::address(caller, &request)?,
        id: names::message(&request)?,
        sent: parameters::pop_receipt(&request)?,
        timeout: parameters::update_timeout(&request)?,
        receipt: service.random()?,
        text: xml::optional_message_text(&mut request.body, caller.known()?).await?,
    };
    let hold = service.queues.update_message(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT)
        .text_header(POP_RECEIPT, &hold.receipt.to_string())
        .text_header(TIME_NEXT_VISIBLE, &dates::rfc1123(hold.next_visible)))
}

pub(crate) async fn delete(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = DeleteMessage {
        address: names::address(caller, request)?,
        id: names::message(request)?,
        sent: parameters::pop_receipt(request)?,
    };
    service.queues.delete_message(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

pub(crate) async fn clear(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = ClearMessages { address: names::address(caller, request)? };
    service.queues.clear_messages(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
