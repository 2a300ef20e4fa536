import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Measurement } from '../measurement.ts';
import type { JournalFixture, JournalTenant } from './fixture.ts';
import { pace } from './pace.ts';

export interface Delay {
  readonly name: string;
  readonly measurement: Measurement;
}

interface Probe {
  readonly arrivedMs: Map<string, number>;
  close(): void;
}

const settleMs = 1000;

/**
 * The delay between the response to a change and its event at a socket, with changes at an even pace on 16 connections.
 * @param services the services with a socket; the first one gets the changes
 */
export async function measureDelay(
  services: readonly { name: string; port: number }[],
  fixture: JournalFixture,
  tenant: JournalTenant,
  { perSecond, ms }: { perSecond: number; ms: number },
): Promise<Delay[]> {
  const after = await fixture.endCursor(tenant.tenantId);
  const probes = await Promise.all(services.map(({ port }) => openProbe(port, tenant.token, after)));
  const answeredMs = new Map<string, number>();
  const [first] = services;
  const url = `http://127.0.0.1:${first?.port}/api/v1/tasks`;
  await pace(perSecond, ms, async () => {
    const headers = { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: '{"title":"bench"}' });
    const nowMs = performance.now();
    const { id } = (await response.json()) as { id: string };
    answeredMs.set(id, nowMs);
  });
  await sleep(settleMs);
  return services.map(({ name }, at) => {
    const probe = probes[at] as Probe;
    probe.close();
    const measurement = new Measurement();
    // The socket is often faster than the response.
    const latenciesMs = [...answeredMs].flatMap(([id, answered]) => {
      const arrived = probe.arrivedMs.get(id);
      return arrived === undefined ? [Number.POSITIVE_INFINITY] : [Math.max(0, arrived - answered)];
    });
    measurement.add({ latenciesMs, seconds: ms / 1000, serviceCpuSeconds: 0 });
    return { name, measurement };
  });
}

/** A socket that records when the event about each entity arrived. */
function openProbe(port: number, token: string, after: string): Promise<Probe> {
  const arrivedMs = new Map<string, number>();
  const socket = connect(port, '127.0.0.1');
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET /api/v1/events/ws?after=${after} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\nauthorization: Bearer ${token}\r\n\r\n`,
  );
  return new Promise((done, refuse) => {
    socket.on('error', refuse);
    socket.on('data', (chunk) => {
      const nowMs = performance.now();
      const text = chunk.toString('latin1');
      for (const [, id] of text.matchAll(/"entityId":"([0-9a-f-]{36})"/g)) arrivedMs.set(id as string, nowMs);
      if (text.startsWith('HTTP/1.1 101'))
        setTimeout(() => done({ arrivedMs, close: () => socket.destroy() }), 100);
    });
  });
}
