//! What is remembered of a request's first line: method, path, and the route pattern where the host knows one.

/// One piece of memory: `METHOD`, a space, the route pattern if there is one, the path.
#[derive(Debug)]
pub(super) struct RequestLine {
    text: Vec<u8>,
    method: usize,
    /// Bytes of the route pattern, 0 where the host knows none.
    route: usize,
}

impl RequestLine {
    /// `target`: as on the wire; `route`: empty where the host knows none. What is too long is cut.
    pub fn new(method: &[u8], target: &[u8], route: &[u8]) -> Self {
        let path = target.split(|&byte| byte == b'?').next().unwrap_or_default();
        Self::of(capped(method, METHOD), capped(path, ROUTE), capped(route, ROUTE))
    }

    fn of(method: &[u8], path: &[u8], route: &[u8]) -> Self {
        RequestLine { text: [method, b" ", route, path].concat(), method: method.len(), route: route.len() }
    }

    pub fn method(&self) -> &[u8] {
        &self.text[..self.method]
    }

    pub fn path(&self) -> &[u8] {
        &self.text[self.method + 1 + self.route..]
    }

    /// The route pattern, or the path where the host knows none.
    pub fn route(&self) -> &[u8] {
        &self.text[self.method + 1..self.shown_len()]
    }

    /// Method and route, as in `GET /weather`.
    pub fn shown(&self) -> &[u8] {
        &self.text[..self.shown_len()]
    }

    /// Method and path, where both are UTF-8.
    pub fn as_str(&self) -> Option<(&str, &str)> {
        Some((std::str::from_utf8(self.method()).ok()?, std::str::from_utf8(self.path()).ok()?))
    }

    /// The host has learned the route.
    pub fn set_route(&mut self, route: &[u8]) {
        let route = capped(route, ROUTE);
        if route != self.route() {
            *self = Self::of(self.method(), self.path(), route);
        }
    }

    fn shown_len(&self) -> usize {
        if self.route == 0 { self.text.len() } else { self.method + 1 + self.route }
    }
}

fn capped(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

/// Most bytes kept of a method, a route and a path.
const METHOD: usize = 32;
const ROUTE: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &RequestLine) -> [&str; 4] {
        [line.method(), line.path(), line.route(), line.shown()].map(|part| std::str::from_utf8(part).unwrap())
    }

    #[test]
    fn the_path_is_the_route_until_the_host_knows_better() {
        let mut line = RequestLine::new(b"GET", b"/weather/oslo?x=1", b"");
        assert_eq!(parts(&line), ["GET", "/weather/oslo", "/weather/oslo", "GET /weather/oslo"]);
        line.set_route(b"/weather/:city");
        assert_eq!(parts(&line), ["GET", "/weather/oslo", "/weather/:city", "GET /weather/:city"]);
        line.set_route(b"/:any");
        assert_eq!(parts(&line), ["GET", "/weather/oslo", "/:any", "GET /:any"]);
        assert_eq!(parts(&RequestLine::new(b"GET", b"/a", b"/:a")), ["GET", "/a", "/:a", "GET /:a"]);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let long = [b'x'; 4_096];
        let line = RequestLine::new(&long, &long, &long);
        assert_eq!([line.method(), line.path(), line.route()].map(<[u8]>::len), [METHOD, ROUTE, ROUTE]);
        assert_eq!(RequestLine::new(b"", b"", b"").shown(), b" ");
    }
}
