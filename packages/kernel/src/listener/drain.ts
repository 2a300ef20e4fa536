import type { IncomingMessage, ServerResponse } from 'node:http';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** A handler that counts its requests in progress, so that a stop can wait for them. */
export interface DrainableHandler {
  readonly handler: Handler;
  /**
   * From now on every response closes its connection. Resolves when no request is in progress, or after `waitMsMax`.
   */
  drain(waitMsMax: number): Promise<void>;
}

export function drainable(handler: Handler): DrainableHandler {
  const underWay = new Set<ServerResponse>();
  let drained: (() => void) | undefined;
  // A kept-alive connection would send its next request to a service that is stopping.
  const endConnection = (res: ServerResponse) => {
    if (!res.headersSent) res.setHeader('connection', 'close');
  };
  return {
    handler(req, res) {
      underWay.add(res);
      if (drained !== undefined) endConnection(res);
      res.once('close', () => {
        underWay.delete(res);
        if (underWay.size === 0) drained?.();
      });
      handler(req, res);
    },
    async drain(waitMsMax) {
      underWay.forEach(endConnection);
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((done) => {
        drained = done;
        timer = setTimeout(done, waitMsMax);
        if (underWay.size === 0) done();
      });
      clearTimeout(timer);
    },
  };
}
