import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { finished } from '@baton/values/steps';
import type { Turns } from '../limits/concurrency-limit.ts';
import { largeBodies, largeBodyBytesMin, placeBytesMin, takePlace } from '../limits/large-bodies.ts';
import { lengthenBody } from '../listener/body-time.ts';
import { readByteStream } from '../listener/byte-stream.ts';
import { clientOfAddress } from '../listener/counted-address.ts';
import { execute, executeAround } from './command.ts';
import { answerError, rendererAt } from './error-answer.ts';
import {
  declaredBytesOf,
  headOf,
  type RequestHead,
  readBody,
  refuseDeclaredSize,
  send,
} from './http-message.ts';
import { inputReader } from './input.ts';
import type { ServiceRuntime } from './runtime.ts';
import { type Endpoint, endpointName, pathOf } from './service.ts';

/**
 * Creates the route handler of one endpoint: the steps of docs/reference/README.md#order-of-checks in order. The router
 * has already done the third, and `execute` does the ninth to the last.
 */
export function requestHandler<Caller, Context extends object>(
  runtime: ServiceRuntime<Caller, Context>,
  endpoint: Endpoint<Context>,
) {
  const name = endpointName(endpoint);
  const readInput = inputReader(endpoint);
  const bytesMax = runtime.bodyBytesMax(endpoint);
  const sizeFirst = runtime.sizeBeforeCredential(endpoint);
  const { around } = endpoint;
  const hasSecrets = endpoint.secrets.length > 0;
  const render = rendererAt(runtime, pathOf(runtime.basePath, endpoint));
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const head = headOf(request.raw, runtime.trustedProxies);
    const startedAt = performance.now();
    let place: Turns | undefined;
    let verified: Caller | undefined;
    try {
      if (sizeFirst) refuseDeclaredSize(head, bytesMax);
      let caller = await runtime.authenticate(head, endpoint);
      verified = caller;
      if (!sizeFirst) refuseDeclaredSize(head, bytesMax);
      const owner = () => runtime.tenantOf(caller) ?? clientOfAddress(head.address);
      if (endpoint.largeBody && mayBeLarge(head)) place = await takePlace(owner());
      const bytes = endpoint.bytes ? noBytes : await readBody(request.raw, bytesMax);
      if (endpoint.permissionFirst && runtime.decideFirst !== undefined)
        caller = await runtime.decideFirst(caller, endpoint);
      const authorize = endpoint.permissionFirst ? () => runtime.authorize(caller, endpoint) : undefined;
      const steps = readInput(request.params, request.query, head.headers, bytes, authorize);
      const input =
        bytes.length < largeBodyBytesMin ? finished(steps) : await largeBodies.read(owner(), steps);
      const call = { ...head, endpoint: name, caller, whenGone: whenGoneOf(reply.raw) };
      const answer =
        around === undefined
          ? await execute(runtime, endpoint, call, input)
          : await executeAround(runtime, { ...endpoint, around }, call, input, {
              method: head.method,
              mediaType: head.headers['content-type'] ?? '',
              read() {
                lengthenBody(request.raw);
                return readByteStream(request.raw, bytesMax);
              },
            });
      runtime.metrics.count(request.method, answer.status, (performance.now() - startedAt) / 1000);
      const headers = hasSecrets ? { ...answer.headers, 'cache-control': 'no-store' } : answer.headers;
      send(reply, head, answer.status, answer.body, headers);
    } catch (error) {
      answerError(runtime, request, reply, { head, endpoint, render, caller: verified }, error);
    } finally {
      place?.leave();
    }
  };
}

const noBytes = Buffer.alloc(0);

/** A body without a declared length may have any length. */
function mayBeLarge(head: RequestHead): boolean {
  return head.headers['transfer-encoding'] !== undefined || declaredBytesOf(head) > placeBytesMin;
}

/** Lets a waiting handler stop once its client has disconnected. */
function whenGoneOf(res: ServerResponse) {
  return (listener: () => void) => {
    if (res.destroyed) listener();
    else res.once('close', listener);
  };
}
