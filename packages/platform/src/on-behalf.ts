import type { IncomingMessage } from 'node:http';
import { inject } from 'light-my-request';
import type { RunningService } from '@baton/kernel/http/running-service';
import { fetchTransport, type Transport } from '@baton/sdk';

/**
 * How the console and the MCP endpoint ask identity for a client of theirs: within the process, with the address of that
 * client. Over the network all clients would share the address of this process, and one that guesses tokens would use up
 * the failures of all (IAM_FAILURES_PER_ADDRESS_MAX). Coordination, which counts no failures, is asked over the network.
 * @param client the request for which identity is asked
 */
export function onBehalf(identity: Pick<RunningService, 'handler'>, client: IncomingMessage): Transport {
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
