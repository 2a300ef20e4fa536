import { JetStreamApiError, type JetStreamClient, jetstream } from '@nats-io/jetstream';
import {
  connect,
  credsAuthenticator,
  errors,
  headers,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import type { JournalEvent } from '../journal/event.ts';
import { cloudEventOf, cloudEventType } from './cloud-event.ts';
import { failureCodeOf, type Sink, SinkAway } from './sink.ts';

export interface NatsTarget extends Pick<Sink, 'name' | 'filter' | 'concurrency' | 'timeoutMs'> {
  readonly servers: readonly string[];
  readonly subjectPrefix: string;
  readonly token?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The content of a .creds file. */
  readonly credentials?: string | undefined;
  /** Files in PEM. */
  readonly tls?: NodeConnectionOptions['tls'] | undefined;
}

const connectMsMax = 5000;
const reconnectWaitMs = 1000;

/**
 * Publishes each event to JetStream and waits until a stream has stored it. `Nats-Msg-Id` is the event's id, so that a
 * stream drops repeats within its duplicate window. The subject is `<prefix>.<tenantId>.<type>`. If one of the
 * addresses begins with tls:, every server must offer TLS.
 */
export function openNatsSink({ servers, subjectPrefix, ...target }: NatsTarget): Sink {
  const { name, filter, concurrency, timeoutMs } = target;
  // The client ignores the scheme. Without this check, it sends the credentials in plain text to a server that doesn't
  // offer TLS, which an attacker in the middle can simulate.
  const isSecure = servers.some((server) => new URL(server).protocol === 'tls:');
  const tls = target.tls ?? (isSecure ? {} : undefined);
  let opening: Promise<Link> | undefined;
  return { name, filter, concurrency, timeoutMs, deliver, close };

  async function deliver(event: JournalEvent): Promise<void> {
    const link = await openOnce();
    if (!link.isConnected) throw new SinkAway('the connection to NATS is lost');
    const about = headers();
    about.set('content-type', cloudEventType);
    try {
      await link.stream.publish(
        `${subjectPrefix}.${event.tenantId}.${event.type}`,
        JSON.stringify(cloudEventOf(event)),
        {
          msgID: event.id,
          headers: about,
          timeout: timeoutMs,
        },
      );
    } catch (error) {
      throw failureOf(error, link);
    }
  }

  /** One connection for all deliveries; it reconnects by itself, and is reopened if it was closed permanently. */
  function openOnce(): Promise<Link> {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw new SinkAway(`no connection to NATS: ${failureCodeOf(error)}`, { cause: error });
    });
    return opening;
  }

  async function open(): Promise<Link> {
    const connection = await connect({
      servers: [...servers],
      name: `baton ${name}`,
      timeout: connectMsMax,
      maxReconnectAttempts: -1,
      reconnectTimeWait: reconnectWaitMs,
      ...(target.token !== undefined && { token: target.token }),
      ...(target.user !== undefined && { user: target.user, pass: target.password ?? '' }),
      ...(target.credentials !== undefined && {
        authenticator: credsAuthenticator(new TextEncoder().encode(target.credentials)),
      }),
      ...(tls && { tls }),
    });
    const link: Link = { connection, stream: jetstream(connection), isConnected: true };
    void follow(link);
    return link;
  }

  async function follow(link: Link): Promise<void> {
    for await (const { type } of link.connection.status()) {
      if (type === 'disconnect' || type === 'staleConnection') link.isConnected = false;
      if (type === 'reconnect') link.isConnected = true;
    }
    link.isConnected = false;
    opening = undefined;
  }

  async function close(): Promise<void> {
    const link = await opening?.catch(() => undefined);
    await link?.connection.close();
  }
}

interface Link {
  readonly connection: NatsConnection;
  readonly stream: JetStreamClient;
  isConnected: boolean;
}

function failureOf(error: unknown, { isConnected }: Link): Error {
  if (error instanceof errors.InvalidArgumentError) return error;
  if (error instanceof errors.TimeoutError && isConnected) return new Error('no acknowledgement in time');
  // NATS reports that there are no responders; the class of this error is not exported.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled')
    return new SinkAway('no stream takes the subject', { blame: 'type', cause: error });
  if (error instanceof JetStreamApiError)
    return new SinkAway(error.message, { blame: 'unclear', cause: error });
  return new SinkAway(`NATS failed: ${failureCodeOf(error)}`, { cause: error });
}
