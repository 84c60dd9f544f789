//! Descriptors: a process has a limited number of them for files and sockets together, so connections get what the rest of
//! the process does not need. Invariant: however many clients come, the files of the process can be opened.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the admin port, refusals, copies, and the process itself need.
const OURS: usize = 128;
/// What is kept for files: a quarter, within these bounds.
const FILES: (usize, usize) = (128, 8192);
/// Connections that there are at least.
const CONNECTIONS_MIN: usize = 16;

/// Raises the limit as far as the system lets us, and says how many there are.
#[must_use]
pub fn raise() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // Without a number it is without an end.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let now = if raised.is_ok() { getrlimit(Resource::Nofile) } else { limit };
    now.current.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}

/// How many connections there may be with so many descriptors, when so many are wanted.
#[must_use]
pub fn connections(descriptors: usize, wanted: usize) -> usize {
    let files = (descriptors / 4).clamp(FILES.0, FILES.1);
    let left = descriptors.saturating_sub(files).saturating_sub(OURS);
    wanted.min(left.max(CONNECTIONS_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_part_of_the_descriptors() {
        let table = [
            (usize::MAX, 4096, 4096),
            (1_048_576, 4096, 4096),
            (1_048_576, 2_000_000, 1_040_256),
            (4096, 4096, 2944),
            (1024, 4096, 640),
            (1024, 100, 100),
            (256, 4096, 16),
            (0, 1, 1),
        ];
        for (descriptors, wanted, expected) in table {
            assert_eq!(connections(descriptors, wanted), expected, "{descriptors} {wanted}");
        }
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        let raised = raise();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert!(raised > 0);
    }
}
