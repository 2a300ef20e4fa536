import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { drainable } from '../listener/drain.ts';
import { answerUnreadable, type UnreadableHandler } from '../listener/unreadable.ts';
import { addDocs, type ServiceDocs } from '../openapi/docs-page.ts';
import { buildHttp, type HttpApp } from './http.ts';
import type { ServiceRuntime } from './runtime.ts';
import type { Endpoint } from './service.ts';

/** A service that responds to requests. The owner of the port passes the requests to it. */
export interface RunningService {
  handler(req: IncomingMessage, res: ServerResponse): void;
  /** Accepts connections that upgrade to another protocol. Absent: upgrades are refused. */
  readonly upgrade?: UpgradeHandler;
  /** Responds to input that the port's HTTP parser refused; see `answerUnreadable`. */
  readonly unreadable?: UnreadableHandler;
  /** Completes requests in progress and closes the database pool. */
  close(): Promise<void>;
}

type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** The parts of a service that `runService` needs. */
export interface ServiceParts<Caller, Context extends object> {
  readonly runtime: ServiceRuntime<Caller, Context>;
  readonly endpoints: readonly Endpoint<Context>[];
  readonly docs: ServiceDocs;
  readonly upgrade?: UpgradeHandler;
  /** Adds hooks and plugins that only this service has. */
  addHooks?(app: HttpApp): void;
  /** How long a stop waits for requests in progress. */
  readonly drainMsMax: number;
  /** Ends requests that would delay the drain, such as those that wait for events. Runs in parallel with the drain. */
  beforeDrained?(): Promise<void>;
  /** Ends background work after the last request; the pool is still open. */
  afterDrained?(): Promise<void>;
}

/** Starts to serve requests: the endpoints, the docs, and requests that are not HTTP. Its `close` closes the pool. */
export async function runService<Caller, Context extends object>(
  parts: ServiceParts<Caller, Context>,
): Promise<RunningService> {
  const { runtime } = parts;
  const app = buildHttp(runtime, parts.endpoints);
  parts.addHooks?.(app);
  addDocs(app, parts.docs);
  await app.ready();
  const requests = drainable(app.routing);
  return {
    handler: requests.handler,
    ...(parts.upgrade && { upgrade: parts.upgrade }),
    unreadable: answerUnreadable(runtime.render),
    async close() {
      await Promise.all([parts.beforeDrained?.(), requests.drain(parts.drainMsMax)]);
      await app.close();
      await parts.afterDrained?.();
      await runtime.pool.close();
    },
  };
}
