//! Security identifiers, and the letters that SDDL has for well-known ones.
//!
//! Some letters mean somebody of the domain of a machine (DA, LA, ...). Here is no domain, so they stand for members of one
//! that nobody has, `S-1-5-21-0-0-0`, and come back as the same letters.

use std::fmt;

/// Parts behind the authority.
const PARTS_MAX: usize = 15;

/// A security identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sid {
    authority: u64,
    parts: Vec<u32>,
}

impl Sid {
    pub(super) const CREATOR_OWNER: (u64, &'static [u32]) = (3, &[0]);
    pub(super) const CREATOR_GROUP: (u64, &'static [u32]) = (3, &[1]);

    pub(super) fn is(&self, (authority, parts): (u64, &[u32])) -> bool {
        self.authority == authority && self.parts == parts
    }

    /// Reads an identifier from the beginning of a text: letters or `S-1-...`. Returns what follows it.
    pub(super) fn read(text: &str) -> Option<(Self, &str)> {
        let Some(rest) = text.strip_prefix("S-1-") else {
            let (letters, rest) = text.split_at_checked(2)?;
            let alias = ALIASES.iter().find(|alias| alias.0 == letters)?;
            return Some((Self { authority: alias.1, parts: alias.2.to_vec() }, rest));
        };
        let (authority, mut rest) = match rest.strip_prefix("0x") {
            Some(hex) => {
                let end = hex.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(hex.len());
                let (digits, rest) = hex.split_at_checked(end)?;
                (u64::from_str_radix(digits, 16).ok()?, rest)
            }
            None => number(rest)?,
        };
        let mut parts = Vec::new();
        while let Some(more) = rest.strip_prefix('-') {
            let (part, behind) = number(more)?;
            parts.push(u32::try_from(part).ok()?);
            rest = behind;
        }
        let fits = authority < 1 << 48 && (1..=PARTS_MAX).contains(&parts.len());
        fits.then_some((Self { authority, parts }, rest))
    }

    /// Reads an identifier from the beginning of bytes. Returns what follows it.
    pub(super) fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ([1, count, authority @ ..], mut rest) = bytes.split_first_chunk::<8>()? else { return None };
        let authority = authority.iter().fold(0, |whole, byte| whole << 8 | u64::from(*byte));
        let mut parts = Vec::new();
        for _ in 0..*count {
            let (part, behind) = rest.split_first_chunk::<4>()?;
            parts.push(u32::from_le_bytes(*part));
            rest = behind;
        }
        (parts.len() <= PARTS_MAX).then_some((Self { authority, parts }, rest))
    }

    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        let [_, _, authority @ ..] = self.authority.to_be_bytes();
        bytes.extend_from_slice(&[1, u8::try_from(self.parts.len()).unwrap_or_default()]);
        bytes.extend_from_slice(&authority);
        bytes.extend(self.parts.iter().flat_map(|part| part.to_le_bytes()));
    }
}

fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

impl fmt::Display for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(alias) = ALIASES.iter().find(|alias| self.is((alias.1, alias.2))) {
            return f.write_str(alias.0);
        }
        if self.authority < 1 << 32 {
            write!(f, "S-1-{}", self.authority)?;
        } else {
            write!(f, "S-1-{:#x}", self.authority)?;
        }
        self.parts.iter().try_for_each(|part| write!(f, "-{part}"))
    }
}

/// Letters, authority, parts.
#[rustfmt::skip]
const ALIASES: &[(&str, u64, &[u32])] = &[
    ("WD", 1, &[0]), ("CO", 3, &[0]), ("CG", 3, &[1]), ("OW", 3, &[4]),
    ("NU", 5, &[2]), ("IU", 5, &[4]), ("SU", 5, &[6]), ("AN", 5, &[7]), ("ED", 5, &[9]), ("PS", 5, &[10]),
    ("AU", 5, &[11]), ("RC", 5, &[12]), ("SY", 5, &[18]), ("LS", 5, &[19]), ("NS", 5, &[20]), ("WR", 5, &[33]),
    ("BA", 5, &[32, 544]), ("BU", 5, &[32, 545]), ("BG", 5, &[32, 546]), ("PU", 5, &[32, 547]),
    ("AO", 5, &[32, 548]), ("SO", 5, &[32, 549]), ("PO", 5, &[32, 550]), ("BO", 5, &[32, 551]),
    ("RE", 5, &[32, 552]), ("RU", 5, &[32, 554]), ("RD", 5, &[32, 555]), ("NO", 5, &[32, 556]),
    ("MU", 5, &[32, 558]), ("LU", 5, &[32, 559]), ("IS", 5, &[32, 568]), ("CY", 5, &[32, 569]),
    ("ER", 5, &[32, 573]), ("CD", 5, &[32, 574]), ("RA", 5, &[32, 575]), ("ES", 5, &[32, 576]),
    ("MS", 5, &[32, 577]), ("HA", 5, &[32, 578]), ("AA", 5, &[32, 579]), ("RM", 5, &[32, 580]),
    ("UD", 5, &[84, 0, 0, 0, 0, 0]), ("AC", 15, &[2, 1]), ("AS", 18, &[1]), ("SS", 18, &[2]),
    ("LW", 16, &[4096]), ("ME", 16, &[8192]), ("MP", 16, &[8448]), ("HI", 16, &[12288]), ("SI", 16, &[16384]),
    ("RO", 5, &[21, 0, 0, 0, 498]), ("LA", 5, &[21, 0, 0, 0, 500]), ("LG", 5, &[21, 0, 0, 0, 501]),
    ("DA", 5, &[21, 0, 0, 0, 512]), ("DU", 5, &[21, 0, 0, 0, 513]), ("DG", 5, &[21, 0, 0, 0, 514]),
    ("DC", 5, &[21, 0, 0, 0, 515]), ("DD", 5, &[21, 0, 0, 0, 516]), ("CA", 5, &[21, 0, 0, 0, 517]),
    ("SA", 5, &[21, 0, 0, 0, 518]), ("EA", 5, &[21, 0, 0, 0, 519]), ("PA", 5, &[21, 0, 0, 0, 520]),
    ("CN", 5, &[21, 0, 0, 0, 522]), ("AP", 5, &[21, 0, 0, 0, 525]), ("KA", 5, &[21, 0, 0, 0, 526]),
    ("EK", 5, &[21, 0, 0, 0, 527]), ("RS", 5, &[21, 0, 0, 0, 553]),
];
