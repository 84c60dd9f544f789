//! The numbers of queue requests, checked: timeouts, times to live and numbers of messages.

use std::time::Duration;

use types::ServiceVersion;

/// Seven days: the longest visibility timeout, and the time to live when none is sent.
pub const SEVEN_DAYS_SECONDS: u32 = 604_800;
/// The most messages that one Get or Peek returns.
pub const MAX_MESSAGES: u8 = 32;

/// A query parameter of the queue operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageParameter {
    /// `visibilitytimeout`
    VisibilityTimeout,
    /// `messagettl`
    MessageTtl,
    /// `numofmessages`
    NumOfMessages,
}

impl MessageParameter {
    /// The name in the query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VisibilityTimeout => "visibilitytimeout",
            Self::MessageTtl => "messagettl",
            Self::NumOfMessages => "numofmessages",
        }
    }
}

/// Why a parameter is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterRefusal {
    /// 400 OutOfRangeQueryParameterValue, with the bounds in the answer.
    #[error("{} is {value}, outside {minimum} to {maximum}", parameter.as_str())]
    OutOfRange {
        /// The one whose value was sent.
        parameter: MessageParameter,
        /// What was sent.
        value: i64,
        /// The smallest value allowed.
        minimum: i64,
        /// The largest value allowed.
        maximum: i64,
    },
    /// 400 InvalidQueryParameterValue.
    #[error("{} cannot be {value}", parameter.as_str())]
    Invalid {
        /// The one whose value was sent.
        parameter: MessageParameter,
        /// What was sent.
        value: i64,
    },
    /// 400 MissingRequiredQueryParameter.
    #[error("{} is required", parameter.as_str())]
    Missing {
        /// The one that is not there.
        parameter: MessageParameter,
    },
}

/// A visibility timeout that its operation allows.
///
/// ```
/// use concurrency::visibility::VisibilityTimeout;
/// assert!(VisibilityTimeout::for_get(None).is_ok_and(|timeout| timeout.seconds() == 30));
/// assert!(VisibilityTimeout::for_get(Some(0)).is_err() && VisibilityTimeout::for_update(Some(0)).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VisibilityTimeout(u32);

impl VisibilityTimeout {
    /// The timeout of Get Messages: 1 second to 7 days, 30 seconds when none is sent.
    ///
    /// # Errors
    /// [`ParameterRefusal::OutOfRange`].
    pub fn for_get(sent: Option<i64>) -> Result<Self, ParameterRefusal> {
        within(MessageParameter::VisibilityTimeout, sent.unwrap_or(30), 1, SEVEN_DAYS_SECONDS).map(Self)
    }

    /// The timeout of Update Message: required, 0 to 7 days.
    ///
    /// # Errors
    /// [`ParameterRefusal::Missing`] or [`ParameterRefusal::OutOfRange`].
    pub fn for_update(sent: Option<i64>) -> Result<Self, ParameterRefusal> {
        let parameter = MessageParameter::VisibilityTimeout;
        let sent = sent.ok_or(ParameterRefusal::Missing { parameter })?;
        within(parameter, sent, 0, SEVEN_DAYS_SECONDS).map(Self)
    }

    /// Whole seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self.0
    }

    /// The same as a length of time.
    #[must_use]
    pub fn length(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}

/// The times of Put Message: how long the message stays invisible and how long it lives.
///
/// ```
/// use concurrency::visibility::PutTimes;
/// use types::ServiceVersion;
/// let never = PutTimes::new(ServiceVersion::NEWEST, None, Some(-1));
/// assert!(never.is_ok_and(|times| times.time_to_live().is_none()));
/// assert!(PutTimes::new(ServiceVersion::NEWEST, Some(10), Some(10)).is_err(), "it would never be visible");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutTimes {
    visibility_timeout: VisibilityTimeout,
    time_to_live: Option<Duration>,
}

impl PutTimes {
    /// Checks `visibilitytimeout` (0 when not sent) and `messagettl` (7 days when not sent).
    ///
    /// # Errors
    /// A [`ParameterRefusal`].
    pub fn new(
        version: ServiceVersion,
        visibility_timeout: Option<i64>,
        time_to_live: Option<i64>,
    ) -> Result<Self, ParameterRefusal> {
        let time_to_live = time_to_live_seconds(version, time_to_live)?;
        let (parameter, sent) = (MessageParameter::VisibilityTimeout, visibility_timeout.unwrap_or(0));
        let seconds = within(parameter, sent, 0, SEVEN_DAYS_SECONDS)?;
        if time_to_live.is_some_and(|ttl| u64::from(seconds) >= ttl) {
            return Err(ParameterRefusal::Invalid { parameter, value: sent });
        }
        let time_to_live = time_to_live.map(Duration::from_secs);
        Ok(Self { visibility_timeout: VisibilityTimeout(seconds), time_to_live })
    }

    /// How long the message stays invisible.
    #[must_use]
    pub const fn visibility_timeout(&self) -> VisibilityTimeout {
        self.visibility_timeout
    }

    /// How long the message lives, `None` for ever.
    #[must_use]
    pub const fn time_to_live(&self) -> Option<Duration> {
        self.time_to_live
    }
}

/// Any positive number or -1 for never from 2017-07-29 on; 1 second to 7 days before.
fn time_to_live_seconds(version: ServiceVersion, sent: Option<i64>) -> Result<Option<u64>, ParameterRefusal> {
    let parameter = MessageParameter::MessageTtl;
    let value = sent.unwrap_or_else(|| i64::from(SEVEN_DAYS_SECONDS));
    if value == 0 || value < -1 {
        return Err(ParameterRefusal::Invalid { parameter, value });
    }
    if !version.at_least(2017, 7, 29) {
        within(parameter, value, 1, SEVEN_DAYS_SECONDS)?;
    }
    Ok(u64::try_from(value).ok())
}

/// The number of messages of Get and Peek: 1 to 32, 1 when none is sent.
///
/// # Errors
/// [`ParameterRefusal::OutOfRange`].
///
/// ```
/// use concurrency::visibility::number_of_messages;
/// assert_eq!(number_of_messages(None), Ok(1));
/// assert!(number_of_messages(Some(33)).is_err());
/// ```
pub fn number_of_messages(sent: Option<i64>) -> Result<u8, ParameterRefusal> {
    let (parameter, value) = (MessageParameter::NumOfMessages, sent.unwrap_or(1));
    let number = within(parameter, value, 1, u32::from(MAX_MESSAGES))?;
    u8::try_from(number).map_err(|_| ParameterRefusal::Invalid { parameter, value })
}

fn within(parameter: MessageParameter, value: i64, minimum: u32, maximum: u32) -> Result<u32, ParameterRefusal> {
    match u32::try_from(value) {
        Ok(number) if (minimum..=maximum).contains(&number) => Ok(number),
        _ => {
            let (minimum, maximum) = (i64::from(minimum), i64::from(maximum));
            Err(ParameterRefusal::OutOfRange { parameter, value, minimum, maximum })
        }
    }
}
