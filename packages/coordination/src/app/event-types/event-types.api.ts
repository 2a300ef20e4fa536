import { namesTag } from '@baton/kernel/http/etag';
import { reply } from '@baton/kernel/http/service';
import { endpoint } from '../context.ts';
import { EventTypePage } from './event-type.ts';
import { describeCatalog } from './event-types.ts';

export const eventTypesApi = [
  endpoint({
    id: 'listEventTypes',
    method: 'GET',
    path: '/event-types',
    summary: 'List the types of events, each with the schema of its payload.',
    description:
      'The ETag `"event-types-<sha256>"` changes only with the catalog; a request with it in If-None-Match gets 304. ' +
      'The same catalog is in `/asyncapi.json`.',
    permission: 'events.read',
    returns: { 200: EventTypePage, 304: null },
    handle(_input, { ifNoneMatch }) {
      const { page, tag } = describeCatalog();
      const headers = { etag: tag };
      return namesTag(ifNoneMatch, tag) ? reply(304, undefined, headers) : reply(200, page, headers);
    },
  }),
];
