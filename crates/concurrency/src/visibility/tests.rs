//! The tables of part (d) of the semantics, and what must never happen to a message.

use proptest::prelude::*;
use types::{ServiceVersion, Timestamp};

use super::{
    Message, MessageNotFound, MessageParameter, MessageState, NotVisible, ParameterRefusal, PopReceipt, PutTimes,
    UpdateRefusal, VisibilityTimeout, number_of_messages,
};
use crate::table_test::check_cells;

const NEW: ServiceVersion = ServiceVersion::new(2017, 7, 29);
const OLD: ServiceVersion = ServiceVersion::new(2016, 5, 31);

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn put(visibility: i64, ttl: i64, now: u64) -> Message {
    Message::put(PutTimes::new(NEW, Some(visibility), Some(ttl)).unwrap(), PopReceipt::new(1), at(now))
}

#[test]
fn d1_visible_between_next_visible_and_expiry() {
    let message = put(10, 60, 100);
    for (seconds, state) in [
        (100, MessageState::Invisible),
        (109, MessageState::Invisible),
        (110, MessageState::Visible),
        (159, MessageState::Visible),
        (160, MessageState::Expired),
    ] {
        assert_eq!(message.state(at(seconds)), state, "{seconds}");
    }
    assert_eq!(put(0, -1, 100).expiry, Timestamp::NEVER);
    assert_eq!(put(0, i64::MAX, 100).expiry, Timestamp::NEVER);
}

fn outcome<T>(result: Result<T, ParameterRefusal>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(ParameterRefusal::OutOfRange { minimum, maximum, .. }) => format!("OutOfRange {minimum}..{maximum}"),
        Err(ParameterRefusal::Invalid { .. }) => "Invalid".into(),
        Err(ParameterRefusal::Missing { .. }) => "Missing".into(),
    }
}

#[test]
fn d2_put_parameters() {
    let table = "
visibilitytimeout | messagettl | 2017-07-29             | 2016-05-31
-                 | -          | ok                     | ok
0                 | -          | ok                     | ok
604799            | -          | ok                     | ok
604800            | -          | Invalid                | Invalid
604801            | -          | OutOfRange 0..604800   | OutOfRange 0..604800
-1                | -          | OutOfRange 0..604800   | OutOfRange 0..604800
-                 | 1          | ok                     | ok
-                 | 604800     | ok                     | ok
-                 | 604801     | ok                     | OutOfRange 1..604800
-                 | 9999999999 | ok                     | OutOfRange 1..604800
-                 | -1         | ok                     | OutOfRange 1..604800
-                 | 0          | Invalid                | Invalid
-                 | -2         | Invalid                | Invalid
604800            | -1         | ok                     | OutOfRange 1..604800
604800            | 604801     | ok                     | OutOfRange 1..604800
9                 | 10         | ok                     | ok
10                | 10         | Invalid                | Invalid
11                | 10         | Invalid                | Invalid
";
    let cells = check_cells(table, 2, |row, version| {
        let version = ServiceVersion::parse(version).unwrap();
        assert!(version == NEW || version == OLD);
        outcome(PutTimes::new(version, row[0].parse().ok(), row[1].parse().ok()))
    });
    assert_eq!(cells, 36);
}

#[test]
fn d2_get_peek_and_update_parameters() {
    let table = "
value  | numofmessages    | Get visibilitytimeout | Update visibilitytimeout
-      | ok               | ok                    | Missing
-1     | OutOfRange 1..32 | OutOfRange 1..604800  | OutOfRange 0..604800
0      | OutOfRange 1..32 | OutOfRange 1..604800  | ok
1      | ok               | ok                    | ok
32     | ok               | ok                    | ok
33     | OutOfRange 1..32 | ok                    | ok
604800 | OutOfRange 1..32 | ok                    | ok
604801 | OutOfRange 1..32 | OutOfRange 1..604800  | OutOfRange 0..604800
";
    let cells = check_cells(table, 1, |row, heading| {
        let value = row[0].parse().ok();
        match heading {
            "numofmessages" => outcome(number_of_messages(value)),
            "Get visibilitytimeout" => outcome(VisibilityTimeout::for_get(value)),
            _ => outcome(VisibilityTimeout::for_update(value)),
        }
    });
    assert_eq!(cells, 24);
    assert_eq!(VisibilityTimeout::for_get(None).unwrap().seconds(), 30);
}

#[test]
fn d2_an_update_does_not_pass_the_expiry_and_a_get_may() {
    let message = put(0, 60, 100);
    let update = |seconds| {
        message.update(
            PopReceipt::new(1),
            VisibilityTimeout::for_update(Some(seconds)).unwrap(),
            PopReceipt::new(2),
            at(110),
        )
    };
    assert!(update(50).is_ok());
    let refused = ParameterRefusal::OutOfRange {
        parameter: MessageParameter::VisibilityTimeout,
        value: 51,
        minimum: 0,
        maximum: 50,
    };
    assert_eq!(update(51), Err(UpdateRefusal::PastExpiry(refused)));
    let got = message.get(VisibilityTimeout::for_get(Some(600)).unwrap(), PopReceipt::new(2), at(110)).unwrap();
    assert_eq!((got.next_visible, got.state(at(160))), (at(710), MessageState::Expired));
}

#[test]
fn d3_pop_receipts() {
    // Put gives receipt 1 at 100; Get at 100 gives 2 for 30 s; Update at 110 gives 3 for 30 s; Get at 150 gives 4.
    let timeout = VisibilityTimeout::for_get(Some(30)).unwrap();
    let put = put(0, 100, 100);
    let got = put.get(timeout, PopReceipt::new(2), at(100)).unwrap();
    let updated = got.update(PopReceipt::new(2), timeout, PopReceipt::new(3), at(110)).unwrap();
    let again = updated.get(timeout, PopReceipt::new(4), at(150)).unwrap();
    let table = "
receipt | after Put | after Get | timeout over | after Update | after another Get | expired
1       | ok        | 404       | 404          | 404          | 404               | 404
2       | 404       | ok        | ok           | 404          | 404               | 404
3       | 404       | 404       | 404          | ok           | 404               | 404
4       | 404       | 404       | 404          | 404          | ok                | 404
9       | 404       | 404       | 404          | 404          | 404               | 404
";
    let cells = check_cells(table, 1, |row, heading| {
        let (message, now) = match heading {
            "after Put" => (put, at(100)),
            "after Get" => (got, at(100)),
            "timeout over" => (got, at(199)),
            "after Update" => (updated, at(110)),
            "after another Get" => (again, at(150)),
            _ => (again, at(200)),
        };
        let receipt = PopReceipt::new(row[0].parse().unwrap());
        let update = message.update(receipt, VisibilityTimeout::for_update(Some(0)).unwrap(), PopReceipt::new(99), now);
        match (message.delete(receipt, now), update) {
            (Ok(()), Ok(_)) => "ok".into(),
            (Err(MessageNotFound), Err(UpdateRefusal::NotFound(MessageNotFound))) => "404".into(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 30);
}

#[test]
fn d4_effects() {
    let table = "
operation       | next visible | dequeue count | receipt | insertion, expiry
Put, timeout 5  | 105          | 0             | new     | 100, 160
Get, timeout 30 | 140          | 1             | new     | 100, 160
Peek            | 105          | 0             | same    | 100, 160
Update, 20      | 130          | 0             | new     | 100, 160
Update, 0       | 110          | 0             | new     | 100, 160
";
    let before = put(5, 60, 100);
    let cells = check_cells(table, 1, |row, heading| {
        let fresh = PopReceipt::new(2);
        let update = |seconds| {
            let timeout = VisibilityTimeout::for_update(Some(seconds)).unwrap();
            before.update(PopReceipt::new(1), timeout, fresh, at(110)).unwrap()
        };
        let after = match row[0] {
            "Put, timeout 5" => Message { receipt: fresh, ..before },
            "Get, timeout 30" => before.get(VisibilityTimeout::for_get(Some(30)).unwrap(), fresh, at(110)).unwrap(),
            "Peek" => before.peek(at(110)).map(|()| before).unwrap(),
            "Update, 20" => update(20),
            _ => update(0),
        };
        match heading {
            "next visible" => after.next_visible.seconds().to_string(),
            "dequeue count" => after.dequeue_count.to_string(),
            "receipt" => (if after.receipt == fresh { "new" } else { "same" }).into(),
            _ => format!("{}, {}", after.insertion.seconds(), after.expiry.seconds()),
        }
    });
    assert_eq!(cells, 20);
}

/// What clients do to one message; times are seconds, receipts indices into those given out so far.
#[derive(Clone, Copy, Debug)]
enum Action {
    Get { timeout: i64 },
    Peek,
    Update { receipt: prop::sample::Index, timeout: i64 },
    Delete { receipt: prop::sample::Index },
}

fn actions() -> impl Strategy<Value = Vec<(i64, Action)>> {
    let receipt = any::<prop::sample::Index>;
    let action = prop_oneof![
        3 => (1_i64..60).prop_map(|timeout| Action::Get { timeout }),
        1 => Just(Action::Peek),
        3 => (receipt(), 0_i64..60).prop_map(|(receipt, timeout)| Action::Update { receipt, timeout }),
        1 => receipt().prop_map(|receipt| Action::Delete { receipt }),
    ];
    // The clock mostly advances and sometimes goes back.
    prop::collection::vec((-20_i64..40, action), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn nobody_gets_a_message_inside_its_timeout_and_no_old_receipt_counts(
        actions in actions(),
        ttl in prop_oneof![Just(-1_i64), 100_i64..2_000],
    ) {
        let mut message = put(0, ttl, 10_000);
        let (mut receipts, mut clock) = (vec![message.receipt], 10_000_u64);
        // What the last holder was promised, by a clock that never goes back, and when the message is gone.
        let (mut promised_until, mut latest_change) = (10_000_u64, 10_000_u64);
        let expiry = message.expiry.seconds();
        for (wait, action) in actions {
            clock = clock.saturating_add_signed(wait);
            let now = clock.max(latest_change);
            let fresh = PopReceipt::new(u128::try_from(receipts.len()).unwrap() + 1);
            let before = message;
            let alive = now < expiry;
            match action {
                Action::Get { timeout } => {
                    let got = message.get(VisibilityTimeout::for_get(Some(timeout)).unwrap(), fresh, at(clock));
                    prop_assert_eq!(got.is_ok(), alive && now >= promised_until);
                    message = got.unwrap_or(message);
                    if got.is_ok() {
                        (promised_until, latest_change) = (now + timeout.unsigned_abs(), now);
                        receipts.push(fresh);
                    }
                }
                Action::Peek => {
                    let expected = if alive && now >= promised_until { Ok(()) } else { Err(NotVisible) };
                    prop_assert_eq!(message.peek(at(clock)), expected);
                }
                Action::Update { receipt, timeout } => {
                    let receipt = *receipt.get(&receipts);
                    let newest = Some(&receipt) == receipts.last();
                    let allowed = VisibilityTimeout::for_update(Some(timeout)).unwrap();
                    let updated = message.update(receipt, allowed, fresh, at(clock));
                    let in_time = now + timeout.unsigned_abs() <= expiry;
                    prop_assert_eq!(updated.is_ok(), newest && alive && in_time);
                    message = updated.unwrap_or(message);
                    if updated.is_ok() {
                        (promised_until, latest_change) = (now + timeout.unsigned_abs(), now);
                        receipts.push(fresh);
                    }
                }
                Action::Delete { receipt } => {
                    let receipt = *receipt.get(&receipts);
                    let newest = Some(&receipt) == receipts.last();
                    prop_assert_eq!(message.delete(receipt, at(clock)).is_ok(), newest && alive);
                }
            }
            if receipts.last() == Some(&before.receipt) {
                prop_assert_eq!(message, before, "a refusal changes nothing");
            }
        }
    }

    #[test]
    fn a_clock_that_goes_backwards_changes_no_outcome(
        visibility in 0_i64..50,
        back in 0_u64..20_000,
        timeout in 1_i64..60,
    ) {
        let message = put(visibility, 60, 10_000);
        let (earlier, last) = (at(10_000_u64.saturating_sub(back)), message.changed_at);
        let (get, fresh) = (VisibilityTimeout::for_get(Some(timeout)).unwrap(), PopReceipt::new(2));
        prop_assert_eq!(message.state(earlier), message.state(last));
        prop_assert_eq!(message.get(get, fresh, earlier), message.get(get, fresh, last));
        let update = |now| message.update(message.receipt, get, fresh, now);
        prop_assert_eq!(update(earlier), update(last));
    }

    #[test]
    fn any_number_is_a_parameter_or_refused(a in any::<i64>(), b in any::<i64>(), now in any::<u64>()) {
        let _ = (number_of_messages(Some(a)), VisibilityTimeout::for_get(Some(a)));
        if let Ok(times) = PutTimes::new(NEW, Some(a), Some(b)) {
            let message = Message::put(times, PopReceipt::new(1), Timestamp::from_ticks(now));
            let _ = message.state(Timestamp::from_ticks(now));
        }
        if let Ok(times) = PutTimes::new(NEW, Some(a.rem_euclid(100)), Some(b)) {
            let _ = Message::put(times, PopReceipt::new(1), Timestamp::from_ticks(now));
        }
    }
}
