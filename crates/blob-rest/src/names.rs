//! The names in a target, checked.

use blob::object::Address;
use rest::{Request, ServiceError};
use types::{
    ErrorCode, UnitId,
    names::{BlobName, ContainerName, NameError},
};

pub(crate) fn container(request: &Request) -> Result<ContainerName, ServiceError> {
    ContainerName::parse(request.target.container.as_deref().unwrap_or_default()).map_err(refused)
}

pub(crate) fn address(account: UnitId, request: &Request) -> Result<Address, ServiceError> {
    let blob = BlobName::parse(request.target.rest.as_deref().unwrap_or_default()).map_err(refused)?;
    Ok(Address { account, container: container(request)?, blob })
}

fn refused(error: NameError) -> ServiceError {
    let reason = error.to_string();
    let error = if error.rule.is_about_length() {
        ServiceError::new(
            ErrorCode::OutOfRangeInput,
            "The specified resource name length is not within the permissible limits.",
        )
    } else {
        ServiceError::new(ErrorCode::InvalidResourceName, "The specified resource name contains invalid characters.")
    };
    error.with_detail("Reason", reason)
}
