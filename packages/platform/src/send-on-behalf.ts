import type { IncomingMessage } from 'node:http';
import { inject } from 'light-my-request';
import type { RunningService } from '@baton/kernel/http/running-service';
import { fetchTransport, type Transport } from '@baton/sdk';

/**
 * Sends identity requests of the console and the MCP endpoint within the process, with the address of the client
 * that caused them. Over the network, all clients would share this process's address, and a client that guesses
 * tokens would use up the failure limit of all (IAM_FAILURES_PER_ADDRESS_MAX). Coordination counts no failures,
 * so requests to it use the network.
 * @param client the request that causes the identity request
 */
export function sendOnBehalf(identity: Pick<RunningService, 'handler'>, client: IncomingMessage): Transport {
  const forwarded = client.headers['x-forwarded-for'];
  const address = client.socket.remoteAddress ?? '';
  return async (request) => {
    const { method, url, headers, body, signal } = request;
    if (!new URL(url).pathname.startsWith('/iam/')) return fetchTransport(request);
    const answer = await inject((req, res) => identity.handler(req, res), {
      method: method as 'POST',
      url: url.replace(/^.*?\/iam(?=\/)/, ''),
      headers: { ...headers, ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) },
      remoteAddress: address,
      signal,
      ...(typeof body === 'string' && { payload: body }),
    });
    return new Response(answer.payload, {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
    });
  };
}
