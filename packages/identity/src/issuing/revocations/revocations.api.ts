import { reply } from '@baton/kernel/http/service';
import { endpoint } from '../context.ts';
import { RevocationList } from './revocation-list.ts';

export const getRevocations = endpoint({
  id: 'getRevocations',
  method: 'GET',
  path: '/.well-known/revocations.json',
  root: true,
  auth: 'none',
  summary: 'Read the list of revocations that apply to access tokens.',
  description:
    'For services that verify access tokens themselves. Read the list about every second, and reject the tokens that it covers. An entry remains for the lifetime of an access token plus two minutes. Ids are hashed.',
  returns: { 200: RevocationList },
  handle: async (_input, { revocationFeed }) =>
    reply(200, await revocationFeed.read(), { 'cache-control': 'no-cache' }),
});

export const revocationsApi = [getRevocations];
