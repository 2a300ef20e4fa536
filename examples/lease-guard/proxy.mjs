#!/usr/bin/env node
// A reverse proxy before a service that deploys: a request passes only with a live lease.
//
//   curl -X POST http://127.0.0.1:9000/deploy -H "Baton-Claim: $BATON_CLAIM_ID" -H "Baton-Fencing-Token: $BATON_FENCING_TOKEN"
import { createServer, request as send } from 'node:http';
import { pipeline } from 'node:stream';
import { LeaseGuard, Refused } from './guard.mjs';

const { BATON_URL, BATON_TOKEN_FILE, UPSTREAM, FOLDER, PORT = '9000', HOST = '127.0.0.1' } = process.env;
if (!BATON_URL || !BATON_TOKEN_FILE || !UPSTREAM || !FOLDER) {
  console.error('Set BATON_URL, BATON_TOKEN_FILE, UPSTREAM (as http://127.0.0.1:9001) and FOLDER.');
  process.exit(2);
}
const upstream = new URL(UPSTREAM);
const guard = new LeaseGuard({ url: BATON_URL, tokenFile: BATON_TOKEN_FILE, folder: FOLDER });
/** What is left of a lease must suffice for the request; a request takes this long at most. */
const leaseMsMin = 2_000;
const requestMsMax = 60_000;
const requestsMax = 64;
/** Of one connection only; the lease is Baton's business, not the upstream's. */
const dropped = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'host',
]);
let requests = 0;

function answer(res, status, message) {
  if (res.headersSent) return res.destroy();
  res.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  res.end(`${message}\n`);
}

async function serve(req, res) {
  const { 'baton-claim': claimId, 'baton-fencing-token': fencingToken } = req.headers;
  const { leftMs, taskId } = await guard.check(claimId, fencingToken);
  if (leftMs < leaseMsMin)
    throw new Refused('This lease ends in a moment: prolong it first.', { isStale: true });
  const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !dropped.has(name)));
  // A request must not outlive the lease under which it began.
  const signal = AbortSignal.timeout(Math.min(requestMsMax, leftMs));
  const passedOn = send(
    upstream,
    {
      method: req.method,
      path: req.url,
      headers: { ...headers, host: upstream.host, 'baton-task': taskId },
      signal,
    },
    (answered) => {
      const own = Object.entries(answered.headers).filter(([name]) => !dropped.has(name));
      res.writeHead(answered.statusCode ?? 502, Object.fromEntries(own));
      pipeline(answered, res, () => undefined);
    },
  );
  passedOn.on('error', () => answer(res, 502, 'The service behind did not answer in time.'));
  pipeline(req, passedOn, () => undefined);
}

const server = createServer((req, res) => {
  if (requests >= requestsMax) return answer(res, 503, 'Too many requests: try again.');
  requests += 1;
  res.once('close', () => {
    requests -= 1;
  });
  serve(req, res).catch((error) => {
    const status = !(error instanceof Refused) ? 500 : error.isStale ? 409 : error.isOurFault ? 503 : 400;
    answer(res, status, error instanceof Refused ? error.message : 'The proxy has a fault.');
  });
});
server.requestTimeout = requestMsMax;
server.listen(Number(PORT), HOST, () => console.log(`Listening on http://${HOST}:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
