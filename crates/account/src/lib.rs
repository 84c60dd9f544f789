//! What an account says about each of its services: the service properties, and the CORS rules among them.
//!
//! The four services share it: the document is the same, and so are the rules. Knows no protocol, no engine and no
//! clock.

pub mod cors;
pub mod properties;
mod record;
mod settings;

pub use cors::CorsRule;
pub use properties::{
    GetServiceProperties, GetServiceStats, Logging, Metrics, PropertiesChange, PropertiesError, RetentionPolicy,
    ServiceProperties, SetServiceProperties, share_retention_days, smb_encryption_required,
};
pub use settings::Settings;
