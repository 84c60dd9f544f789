use md5::Digest as _;
use proptest::prelude::*;

use super::*;

fn expected(bytes: &[u8]) -> Md5Bytes {
    ::md5::Md5::digest(bytes).into()
}

#[test]
fn the_vectors_of_the_standard() {
    let table = [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a",
        ),
    ];
    for (text, digest) in table {
        let mut md5 = Md5::default();
        md5.update(text.as_bytes());
        let hex: String = md5.finish().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, digest, "{text}");
    }
}

#[test]
fn every_length_around_a_block() {
    for length in 0..=200 {
        let bytes = vec![7; length];
        let mut md5 = Md5::default();
        md5.update(&bytes);
        assert_eq!(md5.finish(), expected(&bytes), "{length}");
    }
}

proptest! {
    /// However many streams go side by side, and however their bytes are cut.
    #[test]
    fn streams_do_not_mix(pieces in prop::collection::vec(prop::collection::vec(0_usize..700, 1..5), 1..20)) {
        let rounds = pieces.iter().map(Vec::len).max().unwrap_or_default();
        let mut wholes = vec![Vec::new(); pieces.len()];
        let mut streams: Vec<(Md5, Bytes)> = pieces.iter().map(|_| (Md5::default(), Bytes::new())).collect();
        for round in 0..rounds {
            for (number, lengths) in pieces.iter().enumerate() {
                let length = lengths.get(round).copied().unwrap_or_default();
                let piece: Vec<u8> = (0..length).map(|at| (at * 31 + number * 7 + round).to_le_bytes()[0]).collect();
                wholes[number].extend_from_slice(&piece);
                streams[number].1 = piece.into();
            }
            update_together(&mut streams);
        }
        for ((md5, _), whole) in streams.into_iter().zip(&wholes) {
            prop_assert_eq!(md5.finish(), expected(whole));
        }
    }
}

/// Many bodies at once on several threads: each gets its own digest, also when others give up halfway.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bodies_in_company() {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200_usize {
        tasks.spawn(async move {
            let pieces: Vec<Vec<u8>> = (0..20)
                .map(|round| vec![(number + round).to_le_bytes()[0]; 1000 + (number * 37 + round * 501) % 9000])
                .collect();
            let mut md5 = BodyMd5::default();
            for (round, piece) in pieces.iter().enumerate() {
                if number % 5 == 0 && round == 10 {
                    // Polled once, then dropped with its piece among the waiting.
                    let mut taking = Box::pin(md5.take(piece.clone().into()));
                    let _pending = futures_poll_once(&mut taking).await;
                    return None;
                }
                md5 = md5.take(piece.clone().into()).await;
            }
            Some((md5.finish(), expected(&pieces.concat())))
        });
    }
    let mut finished = 0;
    while let Some(outcome) = tasks.join_next().await {
        if let Some((found, expected)) = outcome.unwrap() {
            assert_eq!(found, expected);
            finished += 1;
        }
    }
    assert_eq!(finished, 160);
}

async fn futures_poll_once<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_ready())).await
}
