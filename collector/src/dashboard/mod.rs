//! The dashboard: server-rendered pages for people who would rather look than read.
//!
//! `session` signs people in with a project key, `page` gathers figures, `view` turns them into what the templates show.
//! No inline script or style anywhere, so the content security policy allows none; without JavaScript everything but the
//! drawn charts and the live refresh works (each chart has its table).

mod assets;
mod chart;
mod entry;
mod page;
mod session;
mod view;
mod words;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

pub use session::Sessions;

use crate::http::App;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/", get(page::dashboard))
        .route("/live", get(page::live))
        // Anybody may send this form, so it is small.
        .route("/login", get(page::sign_in_form).post(page::sign_in).layer(DefaultBodyLimit::max(8192)))
        .route("/logout", post(page::sign_out))
        .route("/assets/{name}", get(assets::asset))
}
