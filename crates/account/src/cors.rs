//! Cross-origin resource sharing: which rule, if any, speaks for a request. Pure.
//!
//! Rules are tried in order. The first whose origin and method match is the one; its headers then decide.

/// One rule. The lists hold what stands between the commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorsRule {
    /// Origins, all subdomains of a domain (`http://*.contoso.com`), or `*`.
    pub allowed_origins: Vec<String>,
    /// Verbs.
    pub allowed_methods: Vec<String>,
    /// Headers of requests: names, prefixes with `*`, or `*`.
    pub allowed_headers: Vec<String>,
    /// Headers of answers that a script may see.
    pub exposed_headers: Vec<String>,
    /// How long a browser may remember the answer to a preflight.
    pub max_age_seconds: u32,
}

/// A rule that matches, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// The one that speaks for the request.
    pub rule: &'a CorsRule,
    /// True when it names the origin or its domain, false when it allows any.
    pub exact: bool,
}

/// The rule that speaks for an actual request.
#[must_use]
pub fn actual<'a>(rules: &'a [CorsRule], origin: &str, method: &str) -> Option<Match<'a>> {
    rules.iter().find_map(|rule| {
        let exact = rule.allowed_origins.iter().any(|allowed| allowed == origin || is_subdomain(origin, allowed));
        let any = rule.allowed_origins.iter().any(|allowed| allowed == "*");
        let method = rule.allowed_methods.iter().any(|allowed| allowed.eq_ignore_ascii_case(method));
        (method && (exact || any)).then_some(Match { rule, exact: exact && !any })
    })
}

/// True for an origin below the domain of `http://*.contoso.com`, with the same scheme and port.
fn is_subdomain(origin: &str, allowed: &str) -> bool {
    let Some((scheme, domain)) = allowed.split_once("*.") else { return false };
    let labels = origin.strip_prefix(scheme).and_then(|host| host.strip_suffix(domain)?.strip_suffix('.'));
    let is_host = |labels: &str| labels.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    scheme.ends_with("://") && labels.is_some_and(|labels| !labels.is_empty() && is_host(labels))
}

/// The rule that allows a preflighted request with these headers.
#[must_use]
pub fn preflight<'a, 'h>(
    rules: &'a [CorsRule],
    origin: &str,
    method: &str,
    mut headers: impl Iterator<Item = &'h str>,
) -> Option<Match<'a>> {
    let found = actual(rules, origin, method)?;
    headers.all(|header| found.rule.allows_header(header)).then_some(found)
}

impl CorsRule {
    fn allows_header(&self, header: &str) -> bool {
        self.allowed_headers.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(prefix) => header.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
            None => allowed.eq_ignore_ascii_case(header),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &str, methods: &str, headers: &str) -> CorsRule {
        let list = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        CorsRule {
            allowed_origins: list(origins),
            allowed_methods: list(methods),
            allowed_headers: list(headers),
            ..CorsRule::default()
        }
    }

    #[test]
    fn the_first_rule_with_origin_and_method_decides() {
        let rules = [
            rule("http://a", "PUT,GET", "x-ms-meta-target*,x-ms-meta-abc"),
            rule("*", "PUT,GET", ""),
            rule("http://a", "DELETE", "x-ms-*"),
        ];
        type Expected = Option<(usize, bool)>;
        // origin, method, headers, number of the rule, exact
        let table: &[(&str, &str, &[&str], Expected)] = &[
            ("http://a", "PUT", &["x-ms-meta-target1", "X-MS-META-ABC"], Some((0, true))),
            ("http://a", "get", &[], Some((0, true))),
            // The second rule would not be asked, even if it allowed the header.
            ("http://a", "PUT", &["x-ms-other"], None),
            ("http://b", "GET", &[], Some((1, false))),
            ("http://b", "GET", &["x-ms-meta-abc"], None),
            ("http://b", "DELETE", &[], None),
            ("http://a", "DELETE", &["x-ms-date"], Some((2, true))),
            // Origins match by every character.
            ("http://A", "DELETE", &[], None),
        ];
        for (origin, method, headers, expected) in table {
            let found = preflight(&rules, origin, method, headers.iter().copied());
            let expected = expected.map(|(number, exact)| Match { rule: &rules[number], exact });
            assert_eq!(found, expected, "{origin} {method} {headers:?}");
        }
        assert_eq!(actual(&[], "http://a", "GET"), None);
    }

    #[test]
    fn a_wildcard_stands_for_all_subdomains() {
        let rules = [rule("http://*.contoso.com,https://*.corp:8080", "GET", "")];
        for (origin, allowed) in [
            ("http://a.contoso.com", true),
            ("http://a.b.contoso.com", true),
            ("http://contoso.com", false),
            ("http://.contoso.com", false),
            ("https://a.contoso.com", false),
            ("http://a.contoso.com:80", false),
            ("http://acontoso.com", false),
            ("http://evil.com/.contoso.com", false),
            ("http://evil.com#.contoso.com", false),
            ("http://a.contoso.com.evil.com", false),
            ("https://x.corp:8080", true),
            ("https://x.corp", false),
        ] {
            let found = actual(&rules, origin, "GET");
            assert_eq!(found, allowed.then_some(Match { rule: &rules[0], exact: true }), "{origin}");
        }
        // Not a pattern of its own: it has no scheme.
        assert_eq!(actual(&[rule("*.contoso.com", "GET", "")], "http://a.contoso.com", "GET"), None);
    }

    #[test]
    fn any_header_and_a_header_shorter_than_a_prefix() {
        let any = [rule("*", "GET", "*")];
        assert!(preflight(&any, "http://a", "GET", ["whatever"].into_iter()).is_some());
        let prefix = [rule("*", "GET", "x-ms-*")];
        assert!(preflight(&prefix, "http://a", "GET", ["x-m"].into_iter()).is_none());
    }
}
