import type { EventDeclaration } from '@baton/kernel/http/service';
import { type JsonSchema, SchemaComponents } from '@baton/kernel/openapi/schemas';
import { EventQuery, JournalEvent } from '../../ledger/journal/event.ts';
import { CloudEvent } from '../../ledger/sinks/cloud-event.ts';
import { streamPath, subProtocol } from '../stream/handshake.ts';
import { eventCatalog } from './event-catalog.ts';
import { allowFurtherFields } from './event-types.ts';

/**
 * The AsyncAPI 3.0 description of the stream of events and of webhooks. It is created from the catalog, so it has a
 * message per type with the payload of `GET /event-types`.
 * @throws Error if two different schemas have the same name
 */
export function describeEvents(): object {
  const events = [...eventCatalog.values()];
  const forms = new SchemaComponents();
  const whole = {
    event: forms.schemaOf(JournalEvent, 'output'),
    cloud: forms.schemaOf(CloudEvent, 'output'),
  };
  const provisional = {
    messages: Object.fromEntries(events.flatMap((event) => messagesOf(event))),
    schemas: Object.fromEntries(events.flatMap((event) => schemasOf(event, whole, forms))),
    query: queryOf(forms),
  };
  const { schemas: named, finish } = forms.settle();
  const { messages, schemas, query } = finish(provisional);
  return allowFurtherFields({
    asyncapi: '3.0.0',
    info: {
      title: 'Baton coordination: events',
      version: '0.2.0',
      description: about,
    },
    defaultContentType: 'application/json',
    servers: { coordination: server },
    channels: {
      events: {
        ...stream,
        messages: referencesTo(events.map(({ type }) => type)),
        bindings: { ws: { method: 'GET', query, bindingVersion: '0.1.0' } },
      },
      webhooks: { ...webhooks, messages: referencesTo(events.map(cloudName)) },
    },
    operations: {
      streamEvents: {
        action: 'send',
        channel: { $ref: '#/channels/events' },
        summary: 'Every event of the tenant after the requested position, in the order of the journal.',
      },
      deliverEvents: {
        action: 'send',
        channel: { $ref: '#/channels/webhooks' },
        summary: 'Every event that the sink subscribes to, at least once.',
      },
    },
    components: { messages, schemas: { ...named, ...schemas }, securitySchemes },
  }) as object;
}

const about = `Every change writes its events to the journal in the same transaction. Delivery is at least once:
detect repeats by \`id\`. A new version of a type only adds fields, so accept unknown fields. The same events are available
in pages at \`GET /api/v1/events\`; the catalog alone is \`GET /api/v1/event-types\`.`;

const server = {
  host: '{host}',
  protocol: 'ws',
  description: 'As `wss` behind a proxy that terminates TLS.',
  variables: { host: { default: 'localhost:8080', description: 'The address of coordination.' } },
  security: [
    { $ref: '#/components/securitySchemes/accessToken' },
    { $ref: '#/components/securitySchemes/accessTokenOfBrowser' },
  ],
};

const securitySchemes = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token of identity for this audience; it needs `events.read`.',
  },
  accessTokenOfBrowser: {
    type: 'httpApiKey',
    name: 'Sec-WebSocket-Protocol',
    in: 'header',
    description: `\`${subProtocol}, bearer.<token>\`; the response has \`${subProtocol}\`. For browsers, which cannot set other headers.`,
  },
};

const stream = {
  address: streamPath,
  title: 'The stream of events',
  description: `One message per event, in the order of the journal, each with its cursor: reconnect with the last processed
cursor as \`after\`. Frames from the client are ignored. The handshake is accepted first; a refusal, at once or while the
stream is open, is a close code: 4400 an invalid cursor or filter (also \`cursor_below_journal_floor\` and
\`cursor_from_other_history\`), 4401 a missing or invalid credential, 4403 no \`events.read\`, 4404 no such workspace, 4503 and
1001 try again, 1013 too many streams, 1011 a failure.`,
  servers: [{ $ref: '#/servers/coordination' }],
};

const webhooks = {
  address: null,
  title: 'Webhooks',
  description: `A POST per event to the addresses in the file \`CP_SINKS_FILE\`: CloudEvents 1.0 in structured
mode (\`application/cloudevents+json\`), signed by the Standard Webhooks scheme. The header \`webhook-id\` is the id of the
event. After a status other than 2xx the delivery is retried with increasing delays.`,
};

/** The handshake's query parameters, like those of `GET /events`. */
function queryOf(forms: SchemaComponents): JsonSchema {
  const { types, workspaceId } = EventQuery;
  return {
    type: 'object',
    properties: {
      after: { type: 'string', description: 'A cursor, exclusive; without it, all events that still exist.' },
      types: forms.schemaOf(types, 'input'),
      workspaceId: forms.schemaOf(workspaceId, 'input'),
    },
  };
}

/** `run.control_message.accepted` → `RunControlMessageAccepted` */
function formName(type: string): string {
  return type
    .split(/[._]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

const cloudName = ({ type }: EventDeclaration) => `${type}.cloudevent`;
const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The message of the stream and that of webhooks. */
function messagesOf(event: EventDeclaration): [string, object][] {
  const name = formName(event.type);
  const common = { name: event.type, title: `${event.type}, version ${event.version}` };
  return [
    [event.type, { ...common, payload: schema(`${name}Event`) }],
    [
      cloudName(event),
      { ...common, contentType: 'application/cloudevents+json', payload: schema(`${name}CloudEvent`) },
    ],
  ];
}

function schemasOf(
  event: EventDeclaration,
  whole: { event: JsonSchema; cloud: JsonSchema },
  forms: SchemaComponents,
): [string, JsonSchema][] {
  const name = formName(event.type);
  const fixed = {
    type: { const: event.type },
    schemaVersion: { const: event.version },
    entityType: { const: event.entity },
    payload: schema(`${name}Payload`),
  };
  return [
    [`${name}Payload`, forms.schemaOf(event.payload, 'input')],
    [`${name}Event`, { allOf: [whole.event, { type: 'object', properties: fixed }] }],
    [
      `${name}CloudEvent`,
      {
        allOf: [
          whole.cloud,
          { type: 'object', properties: { type: fixed.type, data: schema(`${name}Event`) } },
        ],
      },
    ],
  ];
}

function referencesTo(messages: readonly string[]): Record<string, object> {
  return Object.fromEntries(messages.map((name) => [name, { $ref: `#/components/messages/${name}` }]));
}
