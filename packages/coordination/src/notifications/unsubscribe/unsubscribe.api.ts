import { z } from 'zod';
import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { preferencesUpdated } from '../preferences/preferences.events.ts';
import { showUnsubscribe, unsubscribe, unsubscribeAround } from './unsubscribe.ts';
import { tokenCharactersMax, type Unsubscription } from './unsubscribe-links.ts';

const page = z.string().meta({ contentMediaType: 'text/html' });
const query = {
  token: z.string().max(tokenCharactersMax).default('').meta({ description: 'From the link in an e-mail.' }),
};

export const unsubscribeApi = [
  endpoint({
    id: 'showUnsubscribe',
    method: 'GET',
    path: '/notifications/unsubscribe',
    summary: 'Show the page that unsubscribes from the e-mails of one kind.',
    description: 'Needs no credential, and changes nothing, because programs also open links in e-mails.',
    auth: 'none',
    query,
    returns: { 200: page, 400: page },
    handle: ({ query: { token } }, context) => showUnsubscribe(context, token),
  }),
  endpoint({
    id: 'unsubscribe',
    method: 'POST',
    path: '/notifications/unsubscribe',
    summary: 'Unsubscribe from the e-mails of one kind, through the link in an e-mail (RFC 8058).',
    description:
      'Needs no credential: the token is signed. The body is ignored, in whatever form a program sends it.',
    auth: 'none',
    query,
    bytes: true,
    bodyBytesMax: 4096,
    idempotency: 'ignored',
    returns: { 200: page, 400: page },
    emits: [preferencesUpdated],
    example: 'List-Unsubscribe=One-Click',
    around: ({ query: { token } }, surroundings: Surroundings<Unsubscription, Context>) =>
      unsubscribeAround(token, surroundings),
    handle: ({ prepared }, context) => unsubscribe(context, prepared),
  }),
];
