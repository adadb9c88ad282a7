//! The pages: reads the query, asks the store, hands a view to a template.

use std::net::SocketAddr;

use askama::Template;
use axum::Form;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::assets::VERSION;
use super::entry::{self, FeedEntry};
use super::session::{same_origin, signed_in};
use super::view::{self, View};
use crate::clock::DAY_MS;
use crate::http::{App, Fault, clean_bearer};
use crate::store::Page;

const FEED: i64 = 30;

#[derive(Deserialize)]
pub struct Looking {
    #[serde(default)]
    days: String,
    #[serde(default)]
    route: String,
}

#[derive(Template)]
#[template(path = "dashboard.html")]
struct DashboardPage {
    version: &'static str,
    project: String,
    view: View,
}

#[derive(Template)]
#[template(path = "feed.html")]
struct FeedPart {
    feed: Vec<FeedEntry>,
}

#[derive(Template)]
#[template(path = "login.html")]
struct SignInPage {
    version: &'static str,
    fault: Option<&'static str>,
}

pub async fn dashboard(
    State(app): State<App>,
    headers: HeaderMap,
    Query(looking): Query<Looking>,
) -> Result<Response, Fault> {
    let Some(project) = signed_in(&app, &headers).await.map_err(|error| unreadable(&error))? else {
        return Ok(Redirect::to("/login").into_response());
    };
    let (days, step_hours) = match looking.days.as_str() {
        "1" => (1, 1),
        "30" => (30, 24),
        _ => (7, 6),
    };
    let now_ms = app.clock.now_ms();
    let step_ms = step_hours * crate::clock::HOUR_MS;
    let page = Page {
        project_id: project.id,
        // Whole steps, so that the first point of a chart is not a part of one.
        from_ms: (now_ms - days * DAY_MS) / step_ms * step_ms + step_ms,
        route: Some(looking.route).filter(|route| !route.is_empty() && route.len() <= 1024),
        step_hours,
    };
    let view = view::gather(&app.store, page, days, now_ms, FEED).await.map_err(|error| unreadable(&error))?;
    html(StatusCode::OK, &DashboardPage { version: &VERSION, project: project.name, view })
}

/// The live feed alone, for the script that refreshes it.
pub async fn live(State(app): State<App>, headers: HeaderMap) -> Result<Response, Fault> {
    let Some(project) = signed_in(&app, &headers).await.map_err(|error| unreadable(&error))? else {
        return Err(Fault::new(StatusCode::UNAUTHORIZED, "signed_out", "sign in again"));
    };
    let items = app.store.feed(project.id, FEED).await.map_err(|error| unreadable(&error))?;
    html(StatusCode::OK, &FeedPart { feed: entry::feed(items) })
}

pub async fn sign_in_form(State(app): State<App>, headers: HeaderMap) -> Result<Response, Fault> {
    if signed_in(&app, &headers).await.map_err(|error| unreadable(&error))?.is_some() {
        return Ok(Redirect::to("/").into_response());
    }
    html(StatusCode::OK, &SignInPage { version: &VERSION, fault: None })
}

#[derive(Deserialize)]
pub struct SignIn {
    #[serde(default)]
    key: String,
}

pub async fn sign_in(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    form: Result<Form<SignIn>, axum::extract::rejection::FormRejection>,
) -> Result<Response, Fault> {
    let refuse = |status, fault| html(status, &SignInPage { version: &VERSION, fault: Some(fault) });
    let Ok(Form(SignIn { key })) = form else {
        return refuse(StatusCode::BAD_REQUEST, "That form could not be read.");
    };
    if !same_origin(&headers) {
        return refuse(StatusCode::FORBIDDEN, "That form came from another site.");
    }
    let Some(key) = clean_bearer(&key) else {
        return refuse(StatusCode::UNAUTHORIZED, "Enter the project's key.");
    };
    match app.keys.find(&app, key, peer.ip()).await {
        Ok(row) => Ok(with_cookie(Redirect::to("/").into_response(), app.sessions.open(row.id, app.clock.now_ms()))),
        Err(fault) if fault.status == StatusCode::UNAUTHORIZED => {
            refuse(StatusCode::UNAUTHORIZED, "That key belongs to no project, or was replaced.")
        }
        Err(fault) if fault.status == StatusCode::TOO_MANY_REQUESTS => {
            refuse(StatusCode::TOO_MANY_REQUESTS, "Too many wrong keys. Wait a minute and try again.")
        }
        Err(fault) => Err(fault),
    }
}

pub async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Response {
    if !same_origin(&headers) {
        return Fault::new(StatusCode::FORBIDDEN, "other_site", "that form came from another site").into_response();
    }
    with_cookie(Redirect::to("/login").into_response(), app.sessions.close())
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

fn html(status: StatusCode, template: &impl Template) -> Result<Response, Fault> {
    let text = template.render().map_err(|error| {
        tracing::error!(%error, "a template failed");
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a fault in the collector; it is in its log")
    })?;
    let headers = [(header::CONTENT_SECURITY_POLICY, POLICY), (header::CACHE_CONTROL, "no-store")];
    Ok((status, headers, Html(text)).into_response())
}

fn unreadable(error: &anyhow::Error) -> Fault {
    tracing::error!(error = format!("{error:#}"), "cannot read from the database");
    Fault::storage()
}
