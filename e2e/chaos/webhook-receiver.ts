import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { Deliveries } from './deliveries.ts';

/** The filter of the sink `some`. */
export const someTypes = ['task.created', 'task.comment_added'];

/** The receiver of the webhooks: it accepts signed deliveries, and sometimes fails to acknowledge them. */
export interface WebhookReceiver {
  /** The content of the file in CP_SINKS_FILE, next to the secret's file. */
  sinks(secretFile: string): object;
  readonly secret: string;
  /** The requests to both sinks, for one tenant. */
  deliveriesOf(tenantId: string): Deliveries[];
  close(): Promise<void>;
}

interface CloudEvent {
  id: string;
  type: string;
  sequence: string;
  data: { id: string; tenantId: string };
}

const oldSecondsMax = 60;

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const key = randomBytes(32);
  const secret = `whsec_${key.toString('base64')}`;
  keepSecret('webhook secret', secret);
  const known = new Map<string, Deliveries>();
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    secret,
    sinks: (secretFile) => ({
      sinks: ['all', 'some'].map((name) => ({
        type: 'webhook',
        name,
        url: `${url}/${name}`,
        secrets: [{ file: secretFile }],
        timeoutSeconds: 2,
        ...(name === 'some' && { types: someTypes }),
      })),
    }),
    deliveriesOf: (tenantId) => [deliveriesTo('all', tenantId), deliveriesTo('some', tenantId)],
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };

  function deliveriesTo(sink: string, tenantId: string): Deliveries {
    const at = `${sink} ${tenantId}`;
    const wants = ({ type }: { type: string }) => sink === 'all' || someTypes.includes(type);
    const deliveries = known.get(at) ?? new Deliveries(`webhook ${sink}`, tenantId, { wants });
    known.set(at, deliveries);
    return deliveries;
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
    const event = JSON.parse(body) as CloudEvent;
    const deliveries = deliveriesTo((request.url ?? '').slice(1), event.data.tenantId);
    const fault = faultOf(request.headers, body, event, key);
    if (fault !== undefined) deliveries.fault(fault);
    const chance = Math.random();
    // A failure, whether before or after the event is taken, must not lose the event.
    if (chance < 0.03) return void response.writeHead(500).end();
    deliveries.take(event.id, event.sequence);
    if (chance < 0.06) return void response.writeHead(500).end();
    if (chance < 0.08) return void response.destroy();
    if (chance < 0.09) return;
    response.writeHead(204).end();
  }
}

/** The faults of a delivery under the rules of CloudEvents and Standard Webhooks. */
function faultOf(
  headers: IncomingHttpHeaders,
  body: string,
  event: CloudEvent,
  key: Buffer,
): string | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
  if (headers['content-type'] !== 'application/cloudevents+json') return 'came with another content type';
  if (id !== event.id || event.data.id !== event.id) return 'came under another id than its event';
  if (Math.abs(Date.now() / 1000 - Number(at)) > oldSecondsMax) return 'came with an old signature';
  const expected = createHmac('sha256', key)
    .update(`${String(id)}.${String(at)}.${body}`)
    .digest();
  const given = Buffer.from(String(signature).replace('v1,', ''), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected)
    ? undefined
    : 'came with a wrong signature';
}
