import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { keepName, keepSecret } from '@baton/kernel/testing/leaks/leaks';

/** A key pair of the provider, and the algorithm that it is used with. */
export interface SigningPair {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** A fake identity provider; the test chooses its keys, delays and tokens. */
export interface Upstream {
  readonly issuer: string;
  readonly key: SigningPair;
  /** The paths of all requests, in order. */
  readonly requests: string[];
  /** Sets the keys of the key document; with undefined, every request returns 503. */
  publish(keys: readonly object[] | undefined): void;
  /** Delays responses until `end`; `firstRequest` resolves when the first request arrives. */
  delay(ms: number): { firstRequest: Promise<void>; end(): void };
  /** Signs an ID token. `changes` replace claims; undefined removes one. */
  sign(changes?: object, header?: object, key?: SigningPair): Promise<string>;
  close(): Promise<void>;
}

export const upstreamAudience = 'baton-at-upstream';

export function makePair(kid: string, alg = 'RS256'): SigningPair {
  const curves: Record<string, string> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };
  const namedCurve = curves[alg];
  if (alg === 'EdDSA') return { kid, alg, ...generateKeyPairSync('ed25519') };
  const pair =
    namedCurve === undefined
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve });
  return { kid, alg, ...pair };
}

export function jwkOf({ kid, publicKey }: SigningPair, changes: object = {}): object {
  return { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', ...changes };
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The claims of a currently valid ID token. JSON omits a claim that is undefined. */
export function claimsOf(issuer: string, changes: object = {}): Record<string, unknown> {
  const iat = nowSeconds();
  return { iss: issuer, sub: 'subject-of-nobody', aud: upstreamAudience, iat, exp: iat + 300, ...changes };
}

export async function startUpstream(): Promise<Upstream> {
  const requests: string[] = [];
  const key = makePair('upstream-1');
  let published: readonly object[] | undefined = [jwkOf(key)];
  let delayMs = 0;
  let noticed = () => {};
  const server = createServer(async (req, res) => {
    requests.push(req.url ?? '');
    noticed();
    if (delayMs > 0) await sleep(delayMs);
    if (published === undefined) res.writeHead(503).end();
    else if (req.url === '/.well-known/openid-configuration')
      res.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
    else if (req.url === '/keys') res.end(JSON.stringify({ keys: published }));
    else res.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    key,
    requests,
    publish(keys) {
      published = keys;
    },
    delay(ms) {
      delayMs = ms;
      const first = new Promise<void>((done) => {
        noticed = done;
      });
      return {
        firstRequest: first,
        end() {
          delayMs = 0;
        },
      };
    },
    async sign(changes = {}, header = {}, { kid, alg, privateKey } = key) {
      const claims = claimsOf(issuer, changes);
      keepName('external subject', String(claims['sub']));
      const signing = new SignJWT(claims);
      const token = await signing.setProtectedHeader({ alg, kid, typ: 'JWT', ...header }).sign(privateKey);
      keepSecret('upstream token', token);
      return token;
    },
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
