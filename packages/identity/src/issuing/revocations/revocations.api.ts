import { reply } from '@baton/kernel/service';
import { endpoint } from '../context.ts';
import { RevocationList } from './revocation-list.ts';

export const getRevocations = endpoint({
  id: 'getRevocations',
  method: 'GET',
  path: '/.well-known/revocations.json',
  root: true,
  auth: 'none',
  summary: 'Read what was revoked while access tokens that rest on it may be valid.',
  description:
    'For services that verify access tokens by themselves: read it every second or so, and refuse the tokens that it covers. An entry stays for as long as an access token lives, and two minutes more. Ids are hashed.',
  returns: { 200: RevocationList },
  handle: async (_input, { revocationFeed }) =>
    reply(200, await revocationFeed.read(), { 'cache-control': 'no-cache' }),
});

export const revocationsApi = [getRevocations];
