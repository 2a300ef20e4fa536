import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';

/** The identity service as coordination sees it: a key document, and tokens signed with its key. */
export interface TestIssuer {
  readonly issuer: string;
  readonly jwksUrl: string;
  /** The number of requests for the key document. */
  readonly fetches: () => number;
  sign(
    claims: Record<string, unknown>,
    options?: { keyId?: string; lifeSeconds?: number; type?: string },
  ): Promise<string>;
  /** Publishes a different key under a new id; tokens signed from now on use it. */
  rotate(): Promise<void>;
  /** Sets whether the issuer's documents are served. */
  serve(available: boolean): void;
  /** Sets the published revocations; undefined publishes no list, like an older version of identity. */
  revoke(list: object | undefined): void;
  close(): Promise<void>;
}

/** The long variant of a test exceeds the 300 s lifetime of identity's tokens. */
const usualLifeSeconds = 3600;

const newKey = () => generateKeyPair('RS256', { modulusLength: 2048, extractable: true });
// One key for all issuers of a test process: generating one takes longer than most tests.
const firstKey = newKey();

export async function startIssuer(): Promise<TestIssuer> {
  let [pair, keyId, available, fetches] = [await firstKey, 'test-1', true, 0];
  let revocations: object | undefined;
  const server = createServer(async (req, res) => {
    if (req.url?.endsWith('/revocations.json')) {
      const [status, body] = available
        ? [revocations === undefined ? 404 : 200, revocations]
        : [503, undefined];
      return res.writeHead(status, { 'content-type': 'application/json' }).end(body && JSON.stringify(body));
    }
    fetches += 1;
    if (!available) return res.writeHead(503).end();
    const key = { ...(await exportJWK(pair.publicKey)), kid: keyId, use: 'sig', alg: 'RS256' };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [key] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = `${origin}/iam`;
  return {
    issuer,
    jwksUrl: `${origin}/iam/.well-known/jwks.json`,
    fetches: () => fetches,
    async sign(claims, options = {}) {
      const nowSeconds = Math.floor(Date.now() / 1000);
      const token = await new SignJWT({
        iss: issuer,
        aud: 'control-plane',
        iat: nowSeconds,
        nbf: nowSeconds,
        exp: nowSeconds + (options.lifeSeconds ?? usualLifeSeconds),
        jti: newId(),
        ...claims,
      })
        .setProtectedHeader({ alg: 'RS256', typ: options.type ?? 'at+jwt', kid: options.keyId ?? keyId })
        .sign(pair.privateKey);
      keepSecret('access token', token);
      return token;
    },
    async rotate() {
      pair = await newKey();
      keyId = `test-${Number(keyId.slice(5)) + 1}`;
    },
    serve(value) {
      available = value;
    },
    revoke(list) {
      revocations = list;
    },
    close: () => new Promise((done) => server.close(() => done())),
  };
}
