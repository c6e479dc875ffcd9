//! Sessions: the list, opening, the view of one, and pages of its records and items.

use axum::{Json, extract::State, http::StatusCode};
use mainstay_driver::OpenSession;
use mainstay_protocol::{ItemId, Ordinal};
use serde::Deserialize;

use super::{
    Shared,
    extract::{Body, Params, SessionPath, page_limit},
};
use crate::{
    errors::ApiError,
    wire::v1::{ItemPage, OpenRequest, OpenedSession, Record, RecordPage, SessionPage, SessionView},
};

/// Items that are read at a time: each may be large.
const ITEMS_AT_ONCE: usize = 16;
/// A page of items ends once it has this many bytes; it always has at least [`ITEMS_AT_ONCE`], if there are as many.
const ITEM_PAGE_BYTES: usize = 4 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    limit: Option<usize>,
    before: Option<String>,
}

pub(super) async fn list(
    State(shared): State<Shared>,
    Params(params): Params<ListParams>,
) -> Result<Json<SessionPage>, ApiError> {
    let limit = page_limit(params.limit)?;
    let (sessions, next) = shared.host.sessions(limit, params.before).await?;
    Ok(Json(SessionPage { sessions, next }))
}

pub(super) async fn open(
    State(shared): State<Shared>,
    Body(request): Body<OpenRequest>,
) -> Result<(StatusCode, Json<OpenedSession>), ApiError> {
    let OpenRequest { session, create, route, labels, metadata, requires } = request;
    let opened = shared.host.open_session(OpenSession { session, create, route, labels, metadata, requires }).await?;
    let status = if opened.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(OpenedSession { session: opened.session, created: opened.created, head: opened.head })))
}

pub(super) async fn show(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
) -> Result<Json<SessionView>, ApiError> {
    let view = shared.host.session(&session).await?;
    view.map(Json).ok_or_else(|| ApiError::no_session(session.as_str()))
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Direction {
    #[default]
    Forward,
    Backward,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordParams {
    after: Option<Ordinal>,
    before: Option<Ordinal>,
    #[serde(default)]
    direction: Direction,
    limit: Option<usize>,
}

/// Oldest first after `after`; with `direction=backward` newest first before `before`, from the end without it.
pub(super) async fn records(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
    Params(params): Params<RecordParams>,
) -> Result<Json<RecordPage>, ApiError> {
    let limit = page_limit(params.limit)?;
    must_exist(&shared, &session).await?;
    let stored = match (params.direction, params.after, params.before) {
        (Direction::Forward, after, None) => shared.host.records(&session, after.unwrap_or_default(), limit).await?,
        (Direction::Backward, None, before) => shared.host.records_before(&session, before, limit).await?,
        _ => {
            return Err(ApiError::bad_request(
                "`after` goes with `direction=forward`, `before` with `direction=backward`",
            ));
        }
    };
    Ok(Json(RecordPage { records: stored.iter().map(Record::from).collect() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemParams {
    after: Option<ItemId>,
    limit: Option<usize>,
}

pub(super) async fn items(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
    Params(params): Params<ItemParams>,
) -> Result<Json<ItemPage>, ApiError> {
    let limit = page_limit(params.limit)?;
    must_exist(&shared, &session).await?;
    let mut page = ItemPage { items: Vec::new(), more: true };
    let (mut after, mut bytes) = (params.after.unwrap_or_default(), 0);
    while page.items.len() < limit && bytes < ITEM_PAGE_BYTES {
        let asked = ITEMS_AT_ONCE.min(limit - page.items.len());
        let items = shared.host.items(&session, after, asked).await?;
        page.more = !items.is_empty();
        after = items.last().map_or(after, |item| item.id);
        bytes += items.iter().map(item_bytes).sum::<usize>();
        page.items.extend(items);
        if !page.more {
            break;
        }
    }
    Ok(Json(page))
}

/// About how large an item is on the wire: exact enough to bound a page.
fn item_bytes(item: &mainstay_protocol::content::Item) -> usize {
    use mainstay_protocol::content::{ItemBody, Part};
    let parts = |parts: &[Part]| parts.iter().map(Part::bytes).sum();
    match &item.body {
        ItemBody::Message(message) => parts(&message.content),
        ItemBody::Reasoning(text) => text.len(),
        ItemBody::ToolCall(call) => call.arguments.len(),
        ItemBody::ToolResult(result) => parts(&result.content),
        ItemBody::Notice(notice) => notice.text.len(),
    }
}

pub(super) async fn must_exist(shared: &Shared, session: &mainstay_protocol::SessionId) -> Result<(), ApiError> {
    let view = shared.host.session(session).await?;
    view.map(drop).ok_or_else(|| ApiError::no_session(session.as_str()))
}
