import { namesTag } from '@baton/kernel/http/etag';
import { reply } from '@baton/kernel/http/service';
import { endpoint } from '../context.ts';
import { JsonWebKeySet } from './json-web-key.ts';

export const getKeys = endpoint({
  id: 'getJsonWebKeySet',
  method: 'GET',
  path: '/.well-known/jwks.json',
  root: true,
  auth: 'none',
  summary: 'Read the public signing keys as a JWKS document.',
  description:
    'Contains exactly one RSA key, unless the operator rotates it with an overlap (then the next and the previous key follow the signing key), or an audience has a `signingAlgorithm` other than RS256 (then its keys follow those). Ignore keys of a type that you do not use. Cache the document, and fetch it again when a token has an unknown `kid`. Without a configured signing key, the response is 500.',
  returns: { 200: JsonWebKeySet, 304: null },
  async handle(_input, { signingKeys, headers }) {
    const { keys, tag } = await signingKeys.document();
    const caching = { etag: tag, 'cache-control': 'public, max-age=60' };
    if (namesTag(headers['if-none-match'], tag)) return reply(304, undefined, caching);
    return reply(200, { keys: [...keys] }, caching);
  },
});

export const signingKeysApi = [getKeys];
