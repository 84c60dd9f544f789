//! Who gives way to whom, over tasks that sit as connections do.

use super::*;

/// A task that never ends by itself and holds a seat, as a connection does.
#[expect(clippy::disallowed_methods, reason = "the test is the server here")]
async fn sit(seats: &Arc<Seats>, address: &str) -> Option<Arc<Seat>> {
    let taken = seats.take(address.parse().unwrap()).await?;
    let seat = Arc::clone(&taken.seat);
    let task = tokio::spawn(async move {
        let _taken = taken;
        std::future::pending::<()>().await;
    });
    Taken::served_by(&seat, task.abort_handle());
    Some(seat)
}

fn gone(seat: &Seat) -> bool {
    seat.working.load(Ordering::Relaxed) == GONE
}

#[tokio::test]
async fn the_idlest_stranger_of_the_largest_crowd_gives_way() {
    let seats = Arc::new(Seats::new(8));
    let neighbour = sit(&seats, "10.0.0.1").await.unwrap();
    let mut crowd = Vec::new();
    for _ in 0..6 {
        crowd.push(sit(&seats, "10.0.0.2").await.unwrap());
    }
    crowd[0].becomes_known();
    assert!(crowd[1].begin_work(10));
    let eighth = sit(&seats, "10.0.0.3").await.unwrap();
    let ninth = sit(&seats, "10.0.0.4").await.unwrap();
    assert!(gone(&crowd[2]), "the oldest one that is idle and unknown");
    assert!(![&neighbour, &crowd[0], &crowd[1], &crowd[3], &eighth, &ninth].into_iter().any(|seat| gone(seat)));
    assert!(!crowd[2].begin_work(10), "no request begins on it");
    assert_eq!(seats.gave_way(), 1);
}

#[tokio::test]
async fn who_works_stays_and_who_is_known_goes_last() {
    let seats = Arc::new(Seats::new(2));
    let (known, busy) = (sit(&seats, "10.0.0.1").await.unwrap(), sit(&seats, "10.0.0.2").await.unwrap());
    known.becomes_known();
    assert!(busy.begin_work(1));
    assert!(sit(&seats, "10.0.0.3").await.is_some_and(|seat| seat.begin_work(1)));
    assert!(gone(&known) && !gone(&busy));
    assert!(sit(&seats, "10.0.0.4").await.is_none(), "nobody can give way");
    busy.end_work();
    assert!(sit(&seats, "10.0.0.4").await.is_some());
}

#[tokio::test]
async fn one_address_leaves_a_quarter_to_the_others() {
    let seats = Arc::new(Seats::new(8));
    for _ in 0..6 {
        assert!(sit(&seats, "2001:db8::1").await.unwrap().begin_work(1));
    }
    assert!(sit(&seats, "2001:db8::2").await.is_none(), "the same network");
    assert!(sit(&seats, "2001:db8:0:1::2").await.is_some());
    assert!(sit(&seats, "::ffff:10.0.0.1").await.is_some());
    let addresses = seats.lock().addresses.len();
    assert_eq!(addresses, 3);
}

#[tokio::test]
async fn a_connection_has_a_share_of_the_requests() {
    let seat = Seat::alone();
    assert!(seat.begin_work(2) && seat.begin_work(2) && !seat.begin_work(2));
    seat.end_work();
    assert!(seat.begin_work(2));
}
