//! The parameters of a query, decoded, in the order they were sent. Names compare without case, as the services do.

use crate::{ServiceError, limits, percent};

/// Parameters whose values are Base64, which has no space.
const BASE64: [&str; 3] = ["sig", "blockid", "popreceipt"];

/// The decoded parameters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    parameters: Vec<(String, String)>,
}

impl Query {
    /// Reads the part behind the question mark.
    ///
    /// # Errors
    /// Too long, too many parameters, or a broken escape.
    pub fn parse(raw: &str) -> Result<Self, ServiceError> {
        if raw.len() > limits::QUERY_MAX_BYTES {
            return Err(ServiceError::invalid_uri("the query is too long"));
        }
        let mut parameters = Vec::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            if parameters.len() == limits::QUERY_PARAMETERS_MAX {
                return Err(ServiceError::invalid_uri("the query has too many parameters"));
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text| percent::decode(text).ok_or_else(|| ServiceError::invalid_uri("a broken escape"));
            let name = decode(name)?.into_owned();
            // In forms a plus is a space, and some clients write queries like forms. Where Base64 stands it is a plus.
            let base64 = BASE64.iter().any(|known| name.eq_ignore_ascii_case(known));
            let spaced = (!base64 && value.contains('+')).then(|| value.replace('+', "%20"));
            let value = decode(spaced.as_deref().unwrap_or(value))?.into_owned();
            parameters.push((name, value));
        }
        Ok(Self { parameters })
    }

    /// The first value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a parameter, in order.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.parameters.iter().filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// True when the parameter was sent, with or without a value.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A parameter that was sent twice, if there is one.
    #[must_use]
    pub fn repeated(&self) -> Option<&str> {
        let again = self.parameters.iter().enumerate().find(|(position, (name, _))| {
            self.parameters.iter().take(*position).any(|(earlier, _)| earlier.eq_ignore_ascii_case(name))
        });
        again.map(|(_, (name, _))| &**name)
    }

    /// A whole number from a range.
    ///
    /// # Errors
    /// Not a number, or outside of the range.
    pub fn number(&self, name: &str, min: u64, max: u64) -> Result<Option<u64>, ServiceError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && (min..=max).contains(&number) => Ok(Some(number)),
            _ if digits || text.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) => {
                Err(ServiceError::out_of_range_query(name, text, min, max))
            }
            _ => Err(ServiceError::invalid_query(name, text, "it is not a whole number")),
        }
    }

    /// Names and values in the order they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(name, value)| (&**name, &**value))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_plus_is_a_space_except_in_base64() {
        let query = super::Query::parse("prefix=a+b%2Bc&sig=x+y&BlockId=z+%20&other+name=1").unwrap();
        let found: Vec<_> = query.iter().collect();
        assert_eq!(found, [("prefix", "a b+c"), ("sig", "x+y"), ("BlockId", "z+ "), ("other+name", "1")]);
    }

    use types::ErrorCode;

    use super::*;

    #[test]
    fn keeps_order_and_ignores_case_of_names() {
        let query = Query::parse("restype=container&COMP=list&prefix=a%2Fb%20c&&flag&x==").unwrap();
        assert_eq!(query.get("comp"), Some("list"));
        assert_eq!(query.get("Prefix"), Some("a/b c"));
        assert_eq!((query.get("flag"), query.get("x"), query.get("none")), (Some(""), Some("="), None));
        assert_eq!(query.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["restype", "COMP", "prefix", "flag", "x"]);
        assert_eq!(query.repeated(), None);
        assert_eq!(Query::parse("a=1&b=2&A=3").unwrap().repeated(), Some("A"));
    }

    #[test]
    fn refuses_what_is_broken_or_too_much() {
        let many = "a&".repeat(limits::QUERY_PARAMETERS_MAX + 1);
        let long = "a".repeat(limits::QUERY_MAX_BYTES + 1);
        for raw in ["a=%", "%zz=1", "a=%ff", &many, &long] {
            assert_eq!(Query::parse(raw).unwrap_err().code, ErrorCode::InvalidUri);
        }
    }

    #[test]
    fn numbers_have_a_range() {
        use ErrorCode::{InvalidQueryParameterValue, OutOfRangeQueryParameterValue};
        let table = [
            ("5", Ok(Some(5))),
            ("0", Err(OutOfRangeQueryParameterValue)),
            ("11", Err(OutOfRangeQueryParameterValue)),
            ("-1", Err(OutOfRangeQueryParameterValue)),
            ("99999999999999999999999", Err(OutOfRangeQueryParameterValue)),
            ("", Err(InvalidQueryParameterValue)),
            ("+5", Err(InvalidQueryParameterValue)),
            ("5x", Err(InvalidQueryParameterValue)),
        ];
        for (text, expected) in table {
            let query = Query::parse(&format!("n={text}")).unwrap();
            assert_eq!(query.number("n", 1, 10).map_err(|error| error.code), expected, "{text}");
        }
        assert_eq!(Query::default().number("n", 1, 10).unwrap(), None);
    }
}
