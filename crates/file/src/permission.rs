//! Security descriptors of directories and files: kept once for a share, named by a key that follows from their bytes.

/// Names a security descriptor of a share: the beginning of its SHA-256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PermissionKey(pub [u8; 16]);
