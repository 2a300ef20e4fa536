import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import { measurePair, type PairFigures, type SendRequest } from '../pair.ts';
import { readRounds } from '../rounds.ts';
import { startCoordinationProcess } from '../service-process.ts';
import { openStore } from '../store.ts';
import { type FilledTenant, levels, makeProjectsFixture } from './fixture.ts';

/** Per request. All requests and the filling together take about two minutes. */
const measuredSecondsMax = 10;
/** The target: the maximum ratio of a request's time with many projects to its time with few. */
const ratioMax = 1.5;

/** The requests to a tenant: the path, by a project of each level. */
const requests: readonly (readonly [name: string, pathOf: (projectIds: readonly string[]) => string])[] = [
  ...[1, 5, 9].map(
    (level) =>
      [
        `effective configuration at level ${level}`,
        (ids: readonly string[]) => `/projects/${ids[level - 1]}/effective-config`,
      ] as const,
  ),
  ...Array.from(
    { length: levels },
    (_, n) =>
      [
        `tasks below level ${n + 1}`,
        (ids: readonly string[]) => `/tasks?projectId=${ids[n]}&includeSubprojects=true`,
      ] as const,
  ),
  ...Array.from(
    { length: levels },
    (_, n) =>
      [
        `work below level ${n + 1}`,
        (ids: readonly string[]) => `/work/available?projectId=${ids[n]}&includeSubprojects=true`,
      ] as const,
  ),
  ['tasks of one project', (ids) => `/tasks?projectId=${ids[3]}`],
  ['projects', () => '/projects'],
];

type Line = PairFigures & { readonly name: string };

/**
 * Measures the duration of effective configurations and lists of tasks with 10,000 projects nine levels deep and
 * 100,000 tasks, compared with 100 projects nine levels deep and 1,000 tasks, over HTTP, one request at a time. Rounds
 * alternate.
 */
export async function benchProjects(args: string[], stopping: AbortSignal): Promise<void> {
  const { rounds, roundMs, postgres, profileDirectory, isJson } = readRounds(args, 0.2, measuredSecondsMax);
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.adopt(await openStore(postgres), (opened) => opened.close());
  const fixture = cleanup.adopt(await makeProjectsFixture(store.url), (made) => made.close());
  await store.settle();
  const started = await startCoordinationProcess(fixture.settings, profileDirectory);
  const service = cleanup.adopt(started, (running) => running.stop());
  const connection = cleanup.adopt(await RawConnection.open(service.port), (opened) => opened.close());
  const { small, large } = fixture;
  const lines: Line[] = [];
  for (const [name, pathOf] of requests) {
    const sends = [small, large].map((tenant) => sender(connection, service.port, tenant, pathOf)) as [
      SendRequest,
      SendRequest,
    ];
    lines.push({ name, ...(await measurePair(...sends, { rounds, roundMs, stopping })) });
  }
  const sizes = [small, large].map(({ projects, tasks }) => ({ projects, tasks }));
  if (isJson) console.log(JSON.stringify({ store: store.version, sizes, lines }));
  else printTable(store.version, lines);
}

function sender(
  connection: RawConnection,
  port: number,
  { token, projectIds }: FilledTenant,
  pathOf: (projectIds: readonly string[]) => string,
): SendRequest {
  const path = `/api/v1${pathOf(projectIds)}`;
  const request = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`;
  return async () => {
    const status = await connection.exchange(request);
    if (status !== 200) throw new BenchError(`GET ${path} got ${status}.`);
  };
}

function printTable(store: string, lines: readonly Line[]): void {
  console.log(`${store}; 100 projects and 1,000 tasks, 10,000 projects and 100,000 tasks\n`);
  console.log(
    `${'what'.padEnd(36)}   few p50 ms   many p50 ms   many p99 ms   ratio (at most ${ratioMax.toFixed(1)})`,
  );
  for (const { name, smallP50Ms, largeP50Ms, largeP99Ms, ratio } of lines)
    console.log(
      [
        name.padEnd(36),
        smallP50Ms.toFixed(2).padStart(12),
        largeP50Ms.toFixed(2).padStart(13),
        largeP99Ms.toFixed(2).padStart(13),
        ratio.toFixed(2).padStart(7),
        ratio > ratioMax ? '  above' : '',
      ].join(' '),
    );
}
