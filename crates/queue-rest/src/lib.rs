//! The Queue service over REST: a request becomes a typed operation, its result becomes headers and XML.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `queue`.
