import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { drainable } from '../listener/drain.ts';
import { answerUnreadable, type UnreadableHandler } from '../listener/unreadable.ts';
import { addDocs, type ServiceDocs } from '../openapi/docs-page.ts';
import { buildHttp, type HttpApp } from './http.ts';
import type { ServiceRuntime } from './runtime.ts';
import type { Endpoint } from './service.ts';

/** A service that responds to requests; the owner of the port passes them on. */
export interface RunningService {
  handler(req: IncomingMessage, res: ServerResponse): void;
  /** Accepts connections that upgrade to another protocol. Absent: upgrades are refused. */
  readonly upgrade?: UpgradeHandler;
  /** Answers what the parser of the port's owner refused; see `answerUnreadable`. */
  readonly unreadable?: UnreadableHandler;
  /** Finishes what is under way and lets go of the store. */
  close(): Promise<void>;
}

type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** What one service brings to `runService`. */
export interface ServiceParts<Caller, Context extends object> {
  readonly runtime: ServiceRuntime<Caller, Context>;
  readonly endpoints: readonly Endpoint<Context>[];
  readonly docs: ServiceDocs;
  readonly upgrade?: UpgradeHandler;
  /** Adds hooks and plugins that only this service has. */
  addHooks?(app: HttpApp): void;
  /** How long a stop waits for requests under way. */
  readonly drainMsMax: number;
  /** Ends what would hold up the drain, such as requests that wait for events. Runs beside it. */
  beforeDrained?(): Promise<void>;
  /** Ends what works beside the requests, after the last of them; the pool is still open. */
  afterDrained?(): Promise<void>;
}

/** Starts to answer requests: the endpoints, the docs, and requests that are not HTTP. Its `close` closes the pool. */
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
