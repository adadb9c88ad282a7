//! What is kept of a request's head for events and diagnostics, and only where one of them is on.

use super::RequestHead;
use crate::backend::Captured;
use crate::diagnostic::contact;
use crate::dialect::{open402, x402_v1, x402_v2};
use crate::http::{Line, find};

/// The caller, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Caller {
    ip: Vec<u8>,
    captured: Captured,
    /// Only what diagnostics and ratings need.
    identity: Option<Box<Identity>>,
}

#[derive(Debug, Default)]
struct Identity {
    user_agent: Option<Vec<u8>>,
    credential: Option<Vec<u8>>,
    agent_id: Option<String>,
    operator_contact: Option<String>,
}

impl Caller {
    pub fn new(diagnoses: bool, reports: bool, request: &RequestHead<'_>) -> Caller {
        let mut caller =
            Caller { ip: request.client_ip[..request.client_ip.len().min(64)].to_vec(), ..Caller::default() };
        if reports {
            caller.captured = Captured::from_headers(request.headers.iter().copied());
        }
        if diagnoses {
            let credential =
                [x402_v2::PAYMENT_HEADER, x402_v1::PAYMENT_HEADER, "authorization"].into_iter().find_map(|name| {
                    match find(request.headers, name) {
                        Line::One(value) if !value.is_empty() && (name != "authorization" || is_x402(value)) => {
                            Some(value.to_vec())
                        }
                        _ => None,
                    }
                });
            caller.identity = Some(Box::new(Identity {
                user_agent: user_agent(request),
                credential,
                agent_id: open402::agent_id(request.headers),
                operator_contact: contact::operator_contact(request.headers).map(str::to_owned),
            }));
        }
        caller
    }

    /// A rating says which program sent it.
    pub fn keep_user_agent(&mut self, request: &RequestHead<'_>) {
        self.identity.get_or_insert_default().user_agent = user_agent(request);
    }

    /// The address the host gave, empty if none.
    pub fn ip(&self) -> &[u8] {
        &self.ip
    }

    pub fn user_agent(&self) -> Option<&[u8]> {
        self.identity.as_ref()?.user_agent.as_deref()
    }

    /// A JSON object of captured headers, empty if there are none.
    pub fn captured(&self) -> &[u8] {
        self.captured.as_json()
    }

    pub fn captured_agent(&self) -> Option<crate::backend::Text<'_>> {
        self.captured.user_agent()
    }

    pub fn credential(&self) -> Option<&[u8]> {
        self.identity.as_ref()?.credential.as_deref()
    }

    pub fn agent_id(&self) -> Option<&str> {
        self.identity.as_ref()?.agent_id.as_deref()
    }

    pub fn operator_contact(&self) -> Option<&str> {
        self.identity.as_ref()?.operator_contact.as_deref()
    }
}

fn user_agent(request: &RequestHead<'_>) -> Option<Vec<u8>> {
    find(request.headers, "user-agent").single().map(|agent| agent[..agent.len().min(512)].to_vec())
}

fn is_x402(value: &[u8]) -> bool {
    value.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"x402"))
}
