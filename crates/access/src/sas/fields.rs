//! The parameters that make a shared access signature, apart from those of the operation.
//!
//! Invariant: one of them that stands twice is refused, and one with a control character: what is signed is lines, and a
//! field with a line break could stand for others. So what was checked is what was meant.

use super::SasRefusal;

macro_rules! fields {
    ($($(#[doc = $doc:literal])+ $field:ident: $name:literal;)*) => {
        /// The parameters of a signature, decoded. An empty one is like one that is missing, as in what is signed.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Fields<'a> {
            $($(#[doc = $doc])+ pub $field: Option<&'a str>,)*
        }

        impl<'a> Fields<'a> {
            fn slot(&mut self, name: &str) -> Option<&mut Option<&'a str>> {
                $(if name.eq_ignore_ascii_case($name) {
                    return Some(&mut self.$field);
                })*
                None
            }

            /// What is there: names and values, in the order of this table.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
                [$(($name, self.$field),)*].into_iter().filter_map(|(name, value)| value.map(|value| (name, value)))
            }
        }
    };
}

fields! {
    /// The version that the signature was made by.
    version: "sv";
    /// The services of an account SAS.
    services: "ss";
    /// The resource types of an account SAS.
    resource_types: "srt";
    /// The letters of what is allowed.
    permissions: "sp";
    /// The first instant at which it counts.
    start: "st";
    /// The first instant at which it counts no more.
    expiry: "se";
    /// What kind of resource.
    resource: "sr";
    /// How deep the directory is.
    directory_depth: "sdd";
    /// The table that a signature of the Table service opens.
    table: "tn";
    /// The stored access policy.
    policy: "si";
    /// One address, or a range of them, that requests may come from.
    addresses: "sip";
    /// `https`, or `https,http`.
    protocols: "spr";
    /// The encryption scope.
    encryption_scope: "ses";
    /// The first partition.
    start_partition: "spk";
    /// The first row.
    start_row: "srk";
    /// The last partition.
    end_partition: "epk";
    /// The last row.
    end_row: "erk";
    /// Cache-Control of the answer.
    cache_control: "rscc";
    /// Content-Disposition of the answer.
    content_disposition: "rscd";
    /// Content-Encoding of the answer.
    content_encoding: "rsce";
    /// Content-Language of the answer.
    content_language: "rscl";
    /// Content-Type of the answer.
    content_type: "rsct";
    /// The object id of who got the delegation key.
    key_object: "skoid";
    /// The tenant of who got the delegation key.
    key_tenant: "sktid";
    /// From when on the delegation key is valid.
    key_start: "skt";
    /// Until when the delegation key is valid.
    key_expiry: "ske";
    /// The service of the delegation key.
    key_service: "sks";
    /// The version of the delegation key.
    key_version: "skv";
    /// Somebody whom the owner of the key vouches for.
    authorized_object: "saoid";
    /// Somebody who is checked besides.
    unauthorized_object: "suoid";
    /// Ties logs together.
    correlation: "scid";
    /// The tenant of the user whom the signature is for.
    delegated_tenant: "skdutid";
    /// The user whom the signature is for, who must show a token.
    delegated_object: "sduoid";
    /// The headers that are signed.
    request_headers: "srh";
    /// The parameters that are signed.
    request_parameters: "srq";
    /// The signature itself, in Base64. Never logged.
    signature: "sig";
}

impl<'a> Fields<'a> {
    /// Finds the parameters of a signature among those of a query. `None` when there is no signature.
    ///
    /// # Errors
    /// One of them stands twice, or holds a control character.
    pub fn find(query: &[(&'a str, &'a str)]) -> Result<Option<Self>, SasRefusal> {
        if !query.iter().any(|(name, _)| name.eq_ignore_ascii_case("sig")) {
            return Ok(None);
        }
        let mut found = Self::default();
        let mut seen = Self::default();
        for (name, value) in query {
            let Some(slot) = seen.slot(name) else { continue };
            if slot.replace(value).is_some() {
                return Err(SasRefusal::Repeated((*name).to_owned()));
            }
            if let Some(slot) = found.slot(name).filter(|_| !value.is_empty()) {
                *slot = Some(value);
            }
        }
        found.single_lines()?;
        Ok(Some(found))
    }

    /// Refuses control characters.
    pub(super) fn single_lines(&self) -> Result<(), SasRefusal> {
        match self.iter().find(|(_, value)| value.contains(char::is_control)) {
            Some((name, _)) => Err(SasRefusal::Control(name)),
            None => Ok(()),
        }
    }

    /// Refuses what this layout does not sign: a restriction that anybody can take away, or a grant that anybody can add.
    pub(super) fn only(&self, signed: &[&str]) -> Result<(), SasRefusal> {
        match self.iter().find(|(name, _)| !signed.contains(name)) {
            Some((name, _)) => Err(SasRefusal::Unsigned(name)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_found_among_other_parameters() {
        let query = [("comp", "list"), ("SV", "2020-12-06"), ("sip", ""), ("sig", "x"), ("se", "y")];
        let fields = Fields::find(&query).unwrap().unwrap();
        assert_eq!((fields.version, fields.addresses, fields.signature), (Some("2020-12-06"), None, Some("x")));
        assert_eq!(fields.iter().count(), 3);
        assert_eq!(Fields::find(&[("sv", "2020-12-06")]), Ok(None));
        for twice in [[("sig", "x"), ("Sig", "x")], [("sig", "x"), ("sig", "")]] {
            assert_eq!(Fields::find(&twice), Err(SasRefusal::Repeated(twice[1].0.to_owned())));
        }
        let repeated = [("sig", "x"), ("sip", ""), ("sip", "1.1.1.1")];
        assert!(Fields::find(&repeated).is_err());
        assert!(Fields::find(&[("sig", "x"), ("comp", "a"), ("comp", "b")]).is_ok(), "not ours");
    }

    #[test]
    fn a_line_break_in_any_field_is_refused() {
        let names = [
            "sv", "ss", "srt", "sp", "st", "se", "sr", "sdd", "tn", "si", "sip", "spr", "ses", "spk", "srk", "epk",
            "erk", "rscc", "rscd", "rsce", "rscl", "rsct", "skoid", "sktid", "skt", "ske", "sks", "skv", "saoid",
            "suoid", "scid", "skdutid", "sduoid", "srh", "srq", "sig",
        ];
        let mut all = Fields::default();
        for name in names {
            *all.slot(name).unwrap() = Some("x");
            for value in ["\nx-ms-need:v1", "a\rb", "a\0", "\u{7f}", "\u{85}"] {
                let found = Fields::find(&[("sig", "x"), (name, value)][usize::from(name == "sig")..]);
                assert_eq!(found, Err(SasRefusal::Control(name)), "{name}={value:?}");
            }
        }
        assert_eq!(all.iter().count(), names.len());
        assert!(Fields::find(&[("sig", "x"), ("comp", "a\nb")]).is_ok(), "not ours");
    }
}
