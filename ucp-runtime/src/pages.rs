//! A list, page by page.

use crate::call::Inputs;
use crate::error::{Error, PagingError, PagingProblem};
use crate::execute;
use crate::operation::Endpoint;
use crate::response::{Answer, Response};
use crate::transport::BoxFuture;
use crate::wire;
use futures_core::Stream;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The pages of a list, each asked for when it is wanted. It is a [`Stream`], and
/// [`next`](Pages::next) needs nothing else.
///
/// It follows `pagination.has_next_page` and `pagination.cursor`, and nothing else: a page may be
/// empty or of any size. It ends after a page without a next one, after an error envelope, and after
/// an error.
///
/// Each page is a call of its own. Its keys are derived from the call id and the page's number: page
/// `n` of a call `id` is the call `(id, "page/n")`.
///
/// ```no_run
/// # use ucp_runtime::{Call, Error, operation::Paged};
/// # async fn example<E: Paged>(search: Call<E>) -> Result<(), Error> {
/// let mut pages = search.call_id(("conv-1", "turn-7/call-3")).pages();
/// while let Some(page) = pages.next().await {
///     println!("{} bytes", page?.bytes().len());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a page is asked for when it is wanted"]
pub struct Pages<E> {
    inputs: Inputs,
    /// The cursors that were followed.
    followed: HashSet<String>,
    number: u64,
    step: Step,
    endpoint: PhantomData<fn() -> E>,
}

enum Step {
    /// Another page can be asked for.
    Ready,
    /// A page is under way.
    Asked(BoxFuture<'static, Result<Answer, Error>>),
    /// The page that was given last cannot be followed.
    Broken(Box<PagingError>),
    Over,
}

impl<E: Endpoint> Pages<E> {
    pub(crate) fn new(inputs: Inputs) -> Self {
        let body = inputs.body.as_deref().map(serde_json::from_slice::<Value>);
        let cursor = body.and_then(Result::ok).and_then(|body| {
            let cursor = body.pointer("/pagination/cursor")?;
            cursor.as_str().map(str::to_owned)
        });
        Self {
            inputs,
            followed: cursor.into_iter().collect(),
            number: 0,
            step: Step::Ready,
            endpoint: PhantomData,
        }
    }

    /// The next page.
    ///
    /// # Errors
    ///
    /// Those of awaiting a [`Call`](crate::Call); [`Error::Paging`] when the last page announces
    /// another and has no cursor for it, or one that was followed before.
    pub async fn next(&mut self) -> Option<Result<Response<E::Success, E::Failure>, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Puts the cursor of the next page into the request, if there is one.
    fn follow(&mut self, answer: &Answer) -> Step {
        let Some(pagination) = answer.value.get("pagination") else {
            return Step::Over;
        };
        if pagination.get("has_next_page") != Some(&Value::Bool(true)) {
            return Step::Over;
        }
        let broken = |problem| {
            Step::Broken(Box::new(PagingError {
                page: self.number,
                problem,
                response: answer.raw.clone(),
            }))
        };
        let Some(cursor) = wire::tag(pagination, "cursor") else {
            return broken(PagingProblem::NoCursor);
        };
        if self.followed.contains(cursor) {
            return broken(PagingProblem::Repeated);
        }
        let Some(body) = with_cursor(self.inputs.body.as_deref(), cursor) else {
            return broken(PagingProblem::Request);
        };
        self.followed.insert(cursor.to_owned());
        self.inputs.body = Some(body.into());
        Step::Ready
    }
}

/// A request's body for another page.
fn with_cursor(body: Option<&[u8]>, cursor: &str) -> Option<Vec<u8>> {
    let mut body: Value = serde_json::from_slice(body.unwrap_or(b"{}")).ok()?;
    let pagination = body
        .as_object_mut()?
        .entry("pagination")
        .or_insert_with(|| Value::Object(wire::Map::new()));
    pagination
        .as_object_mut()?
        .insert("cursor".to_owned(), cursor.into());
    serde_json::to_vec(&body).ok()
}

impl<E: Endpoint> Stream for Pages<E> {
    type Item = Result<Response<E::Success, E::Failure>, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match std::mem::replace(&mut this.step, Step::Over) {
                Step::Over => return Poll::Ready(None),
                Step::Broken(error) => return Poll::Ready(Some(Err(Error::Paging(error)))),
                Step::Ready => {
                    this.number += 1;
                    let inputs = this.inputs.turn("page", this.number);
                    this.step = Step::Asked(Box::pin(execute::execute(inputs)));
                }
                Step::Asked(mut page) => {
                    let Poll::Ready(answer) = page.as_mut().poll(context) else {
                        this.step = Step::Asked(page);
                        return Poll::Pending;
                    };
                    return Poll::Ready(Some(answer.and_then(|answer| {
                        let next = this.follow(&answer);
                        let response = answer.read()?;
                        this.step = next;
                        Ok(response)
                    })));
                }
            }
        }
    }
}

impl<E> fmt::Debug for Pages<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("operation", &self.inputs.operation.id)
            .field("asked", &self.number)
            .finish_non_exhaustive()
    }
}
