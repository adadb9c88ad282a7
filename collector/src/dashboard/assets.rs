//! Files in the binary. Their address carries a hash of them all, so browsers may keep them for ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::http::Fault;

const FILES: &[(&str, &str, &str)] = &[
    ("dashboard.css", "text/css; charset=utf-8", include_str!("../../assets/dashboard.css")),
    ("dashboard.js", "text/javascript; charset=utf-8", include_str!("../../assets/dashboard.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ("uPlot.css", "text/css; charset=utf-8", include_str!("../../assets/vendor/uPlot.min.css")),
    ("uPlot.js", "text/javascript; charset=utf-8", include_str!("../../assets/vendor/uPlot.iife.min.js")),
    ("uPlot.LICENSE.txt", "text/plain; charset=utf-8", include_str!("../../assets/vendor/uPlot.LICENSE")),
];

/// What templates append to an asset's address.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (_, _, content) in FILES {
        hash.update(content);
    }
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..9])
});

pub async fn asset(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(file, _, _)| *file == name) {
        Some((_, kind, content)) => {
            let headers =
                [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
            (headers, *content).into_response()
        }
        None => Fault::new(StatusCode::NOT_FOUND, "not_found", "there is no such file").into_response(),
    }
}
