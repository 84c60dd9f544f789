//! The operation table: method, resource, `restype` and `comp` tell the operations apart.

use access::need::Service;
use http::Method;
use rest::{Outcome, Request, Response, ServiceError, caller, route::Routes, service_properties};

use crate::{QueueService, acl, listing, messages, queues};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Account,
    Queue,
    /// `/queue/messages`
    Messages,
    /// `/queue/messages/id`
    Message,
}

rest::operations! {
    /// The operations of the service.
    enum Operation {
        SetQueueServiceProperties,
        GetQueueServiceProperties,
        GetQueueServiceStats,
        GetUserDelegationKey,
        ListQueues,
        CreateQueue,
        DeleteQueue,
        GetQueueMetadata,
        SetQueueMetadata,
        GetQueueAcl,
        SetQueueAcl,
        PutMessage,
        /// Get Messages, or Peek Messages with `peekonly=true`.
        GetMessages,
        PeekMessages,
        ClearMessages,
        UpdateMessage,
        DeleteMessage,
    }
}

/// One row an operation: where, method, `restype`, `comp`.
const TABLE: Routes<Level, Method, Operation> = Routes(&[
    (Level::Account, Method::PUT, "service", "properties", Operation::SetQueueServiceProperties),
    (Level::Account, Method::GET, "service", "properties", Operation::GetQueueServiceProperties),
    (Level::Account, Method::GET, "service", "stats", Operation::GetQueueServiceStats),
    (Level::Account, Method::POST, "service", "userdelegationkey", Operation::GetUserDelegationKey),
    (Level::Account, Method::GET, "", "list", Operation::ListQueues),
    (Level::Queue, Method::PUT, "", "", Operation::CreateQueue),
    (Level::Queue, Method::DELETE, "", "", Operation::DeleteQueue),
    (Level::Queue, Method::GET, "", "metadata", Operation::GetQueueMetadata),
    (Level::Queue, Method::HEAD, "", "metadata", Operation::GetQueueMetadata),
    (Level::Queue, Method::PUT, "", "metadata", Operation::SetQueueMetadata),
    (Level::Queue, Method::GET, "", "acl", Operation::GetQueueAcl),
    (Level::Queue, Method::HEAD, "", "acl", Operation::GetQueueAcl),
    (Level::Queue, Method::PUT, "", "acl", Operation::SetQueueAcl),
    (Level::Messages, Method::POST, "", "", Operation::PutMessage),
    (Level::Messages, Method::GET, "", "", Operation::GetMessages),
    (Level::Messages, Method::DELETE, "", "", Operation::ClearMessages),
    (Level::Message, Method::PUT, "", "", Operation::UpdateMessage),
    (Level::Message, Method::DELETE, "", "", Operation::DeleteMessage),
]);

pub(crate) async fn answer(service: &QueueService, request: Request) -> Outcome {
    match find(&request) {
        Ok(operation) => Outcome::new(operation.name(), run(service, request, operation).await),
        Err(error) => Outcome::new("Unknown", Err(error)),
    }
}

async fn run(service: &QueueService, mut request: Request, operation: Operation) -> Result<Response, ServiceError> {
    let caller = caller::authenticate(&service.accounts, Service::Queue, &request)?;
    // Nothing of a queue is public, so nobody unknown is listened to any longer.
    caller.known()?;
    let answer = match operation {
        Operation::SetQueueServiceProperties => {
            service_properties::set(&service.settings, Service::Queue, &caller, &mut request).await
        }
        Operation::GetQueueServiceProperties => {
            service_properties::get(&service.settings, Service::Queue, &caller).await
        }
        Operation::GetQueueServiceStats => {
            service_properties::stats(&service.settings, Service::Queue, &caller, &request).await
        }
        Operation::GetUserDelegationKey => acl::user_delegation_key(service, &caller, &mut request).await,
        Operation::ListQueues => listing::queues(service, &caller, &request).await,
        Operation::CreateQueue => queues::create(service, &caller, &request).await,
        Operation::DeleteQueue => queues::delete(service, &caller, &request).await,
        Operation::GetQueueMetadata => queues::metadata(service, &caller, &request).await,
        Operation::SetQueueMetadata => queues::set_metadata(service, &caller, &request).await,
        Operation::GetQueueAcl => acl::get(service, &caller, &request).await,
        Operation::SetQueueAcl => acl::set(service, &caller, request).await,
        Operation::PutMessage => messages::put(service, &caller, request).await,
        Operation::GetMessages => messages::get(service, &caller, &request).await,
        Operation::PeekMessages => messages::peek(service, &caller, &request).await,
        Operation::ClearMessages => messages::clear(service, &caller, &request).await,
        Operation::UpdateMessage => messages::update(service, &caller, request).await,
        Operation::DeleteMessage => messages::delete(service, &caller, &request).await,
    };
    answer.map_err(|error| caller.explain(error))
}

fn find(request: &Request) -> Result<Operation, ServiceError> {
    let level = match request.target.segments() {
        (None, None) => Level::Account,
        (Some(_), None) => Level::Queue,
        (Some(_), Some("messages" | "messages/")) => Level::Messages,
        (Some(_), Some(rest)) if rest.strip_prefix("messages/").is_some_and(|id| !id.contains('/')) => Level::Message,
        _ => return Err(ServiceError::invalid_uri("the path names neither a queue nor its messages")),
    };
    let query = &request.target.query;
    let (restype, comp) = (query.get("restype").unwrap_or_default(), query.get("comp").unwrap_or_default());
    match TABLE.find(level, &request.method, restype, comp)? {
        Operation::GetMessages => peek_or_get(query.get("peekonly")),
        operation => Ok(operation),
    }
}

fn peek_or_get(peek_only: Option<&str>) -> Result<Operation, ServiceError> {
    match peek_only {
        None => Ok(Operation::GetMessages),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Operation::GetMessages),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Operation::PeekMessages),
        Some(text) => Err(ServiceError::invalid_query("peekonly", text, "it is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_the_same_place_and_method() {
        assert_eq!(TABLE.hidden(), None);
    }

    #[test]
    fn peeking_is_asked_for_in_words() {
        use Operation::{GetMessages, PeekMessages};
        let table = [
            (None, Some(GetMessages)),
            (Some("false"), Some(GetMessages)),
            (Some("True"), Some(PeekMessages)),
            (Some(""), None),
            (Some("1"), None),
        ];
        for (sent, expected) in table {
            assert_eq!(peek_or_get(sent).ok(), expected, "{sent:?}");
        }
    }
}
