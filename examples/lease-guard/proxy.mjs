#!/usr/bin/env node
// A reverse proxy for a deploy service: it forwards a request only with a live lease, from its holder (README.md).
import { createServer, request as send } from 'node:http';
import { pipeline } from 'node:stream';
import { LeaseGuard, Refused } from './guard.mjs';

const { BATON_URL, BATON_TOKEN_FILE, UPSTREAM, FOLDER, PORT = '9000', HOST = '127.0.0.1' } = process.env;
if (!BATON_URL || !BATON_TOKEN_FILE || !UPSTREAM || !FOLDER) {
  console.error('Set BATON_URL, BATON_TOKEN_FILE, UPSTREAM (such as http://127.0.0.1:9001) and FOLDER.');
  process.exit(2);
}
const upstream = new URL(UPSTREAM);
const guard = new LeaseGuard({ url: BATON_URL, tokenFile: BATON_TOKEN_FILE, folder: FOLDER });
/** The minimum remaining time of a lease for a request, and the maximum duration of a request. */
const leaseMsMin = 2_000;
const requestMsMax = 60_000;
const requestsMax = 64;
/** Headers of one connection only. */
const dropped = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'host',
  'expect',
];
let requests = 0;

function answer(res, status, message) {
  if (res.headersSent) return res.destroy();
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  res.end(`${message}\n`);
}

/**
 * Without hop-by-hop headers, including those listed in `Connection`, which can't remove the length of a body.
 */
function endToEnd(headers) {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  return Object.entries(headers).filter(
    ([name]) => name === 'content-length' || (!dropped.includes(name) && !named.includes(name)),
  );
}

/**
 * The headers of the forwarded request. Some services read `_` or `.` as `-`: none of the client's names may pass
 * for `Baton-Task`. The access token is for the gateway, not for the service.
 */
function headersOf(req, framing, taskId) {
  const own = endToEnd(req.headers).filter(([name]) => {
    const plain = name.replaceAll(/[^a-z0-9]/g, '-');
    return plain !== 'baton-task' && plain !== 'baton-access-token';
  });
  return { ...Object.fromEntries(own), ...framing, host: upstream.host, 'baton-task': taskId };
}

/**
 * The body keeps its framing. For GET, DELETE and OPTIONS Node frames no body by itself: the service would read an
 * unframed one as the next request, under a task that its author chooses.
 */
function framingOf({ 'transfer-encoding': encoding, 'content-length': length }) {
  if (encoding === undefined) return length === undefined ? {} : { 'content-length': length };
  if (length !== undefined) throw new Refused('A body has a length or is chunked, not both.');
  if (encoding.trim().toLowerCase() !== 'chunked')
    throw new Refused('This proxy accepts no transfer encoding but chunked.', 501);
  return { 'transfer-encoding': 'chunked' };
}

/** Forwards the service's response. It may have a header that Node can read but not write. */
function passBack(answered, res) {
  try {
    res.writeHead(answered.statusCode, Object.fromEntries(endToEnd(answered.headers)));
  } catch {
    answered.destroy();
    return answer(res, 502, 'The answer of the service behind is not valid.');
  }
  pipeline(answered, res, () => undefined);
}

async function serve(req, res) {
  const { 'baton-claim': claimId, 'baton-fencing-token': fencingToken } = req.headers;
  if (!req.url.startsWith('/')) throw new Refused('The address must be a path.');
  const framing = framingOf(req.headers);
  const hasBody = framing['transfer-encoding'] !== undefined || Number(framing['content-length'] ?? 0) > 0;
  const { leftMs, taskId } = await guard.check(claimId, fencingToken, req.headers['baton-access-token']);
  if (leftMs < leaseMsMin) throw new Refused('This lease is about to expire: extend it first.', 409);
  // A request must not outlive the lease under which it started.
  const signal = AbortSignal.timeout(Math.min(requestMsMax, leftMs));
  const passedOn = send(
    upstream,
    {
      method: req.method,
      path: req.url,
      headers: headersOf(req, framing, taskId),
      // One connection for each request: remaining data on it can't become another request.
      agent: false,
      signal,
    },
    (answered) => passBack(answered, res),
  );
  passedOn.on('error', () => answer(res, 502, 'The service behind did not answer in time.'));
  if (hasBody) pipeline(req, passedOn, () => undefined);
  else passedOn.end();
}

// Also if NODE_OPTIONS selects the parser that accepts contradictory framing.
const server = createServer({ insecureHTTPParser: false }, (req, res) => {
  if (requests >= requestsMax) return answer(res, 503, 'Too many requests: try again.');
  requests += 1;
  res.once('close', () => {
    requests -= 1;
  });
  serve(req, res).catch((error) => {
    if (error instanceof Refused) answer(res, error.status, error.message);
    else answer(res, 500, 'Internal error of the proxy.');
  });
});
server.requestTimeout = requestMsMax;
server.listen(Number(PORT), HOST, () => console.log(`Listening on http://${HOST}:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
