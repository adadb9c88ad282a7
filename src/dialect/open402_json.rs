//! Challenge and proof as JSON objects, for languages that hand them over as text. Members carry the names of the header's fields.

use std::fmt;

use serde_json::{Map, Value};

use super::open402::{Challenge, Fault, Proof};
use crate::json::escape;

/// Why no header is built of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Not a JSON object.
    NotAnObject,
    /// A member that the dialect has no field for.
    Unknown(String),
    /// A member that is not a text.
    NotText(&'static str),
    /// The texts make no header.
    Fault(Fault),
}

impl fmt::Display for BuildError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NotAnObject => write!(out, "not a JSON object of texts"),
            BuildError::Unknown(name) => write!(out, "{name:?}: no field is called so"),
            BuildError::NotText(name) => write!(out, "{name}: not a text; an amount is one too, like \"0.05\""),
            BuildError::Fault(fault) => fault.fmt(out),
        }
    }
}

impl std::error::Error for BuildError {}

impl Challenge {
    /// `{"chain","token","amount","address","service_hash"?,"service_tier"?,"refund_contract"?}`, compact ASCII.
    pub fn to_json(&self) -> Vec<u8> {
        written(&[
            ("chain", Some(&self.chain)),
            ("token", Some(&self.token)),
            ("amount", Some(&self.amount)),
            ("address", Some(&self.address)),
            ("service_hash", self.service_hash.as_ref()),
            ("service_tier", self.service_tier.as_ref()),
            ("refund_contract", self.refund_contract.as_ref()),
        ])
    }

    /// The `WWW-Authenticate` value of such an object.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn header_of_json(json: &[u8]) -> Result<String, BuildError> {
        let mut fields = Texts::read(json)?;
        let challenge = Challenge {
            chain: fields.take("chain")?.unwrap_or_default(),
            token: fields.take("token")?.unwrap_or_default(),
            amount: fields.take("amount")?.unwrap_or_default(),
            address: fields.take("address")?.unwrap_or_default(),
            service_hash: fields.take("service_hash")?,
            service_tier: fields.take("service_tier")?,
            refund_contract: fields.take("refund_contract")?,
        };
        fields.end()?;
        challenge.to_header().map_err(BuildError::Fault)
    }
}

impl Proof {
    /// `{"tx_hash","payer_address"?,"chain"?,"request_id"?}`, compact ASCII.
    pub fn to_json(&self) -> Vec<u8> {
        written(&[
            ("tx_hash", Some(&self.tx_hash)),
            ("payer_address", self.payer_address.as_ref()),
            ("chain", self.chain.as_ref()),
            ("request_id", self.request_id.as_ref()),
        ])
    }

    /// The `Authorization` value of such an object.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn header_of_json(json: &[u8]) -> Result<String, BuildError> {
        let mut fields = Texts::read(json)?;
        let proof = Proof {
            tx_hash: fields.take("tx_hash")?.unwrap_or_default(),
            payer_address: fields.take("payer_address")?,
            chain: fields.take("chain")?,
            request_id: fields.take("request_id")?,
        };
        fields.end()?;
        proof.to_header().map_err(BuildError::Fault)
    }
}

fn written(fields: &[(&str, Option<&String>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        if let Some(value) = value {
            out.push(if out.is_empty() { b'{' } else { b',' });
            escape::write_string(&mut out, name);
            out.push(b':');
            escape::write_string(&mut out, value);
        }
    }
    out.push(b'}');
    out
}

struct Texts(Map<String, Value>);

impl Texts {
    fn read(json: &[u8]) -> Result<Texts, BuildError> {
        serde_json::from_slice(json).map(Texts).map_err(|_| BuildError::NotAnObject)
    }

    fn take(&mut self, name: &'static str) -> Result<Option<String>, BuildError> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(BuildError::NotText(name)),
        }
    }

    fn end(self) -> Result<(), BuildError> {
        self.0.into_iter().next().map_or(Ok(()), |(name, _)| Err(BuildError::Unknown(name)))
    }
}
