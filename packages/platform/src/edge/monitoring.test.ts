// The dashboard, alert rules and scrape configuration of deploy/, against a running Baton.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { projectRoot } from '../config.ts';
import { runProgram } from '../testing/child-program.ts';
import { metricNamesOf, queryParts } from '../testing/promql.ts';
import { type SeparateServices, startSeparateServices } from '../testing/separate-services.ts';

const deploy = join(projectRoot, 'deploy');
const rulesFile = join(deploy, 'prometheus/alerts.yml');
const readText = (path: string) => readFileSync(path, 'utf8');

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(readText(join(deploy, 'grafana/baton.json'))) as { panels: Panel[] };
const panelQueries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);
/** The expressions of the rules, between `expr:` and the next key. */
const alerts = [
  ...readText(rulesFile).matchAll(/- alert: (\w+)\n\s+expr:(?: >-)?\s+([^]*?)\n\s+(?:for|labels):/g),
].map(([, title = '', expr = '']) => ({ title, expr }));

/** Labels that Prometheus adds to every series, and its own metric. */
const scrapeLabels = ['job', 'instance'];
const ownMetric = 'up';
/** Alerts that a machine busy with tests may trigger. */
const raisedWhenBusy = new Set(['BatonSlow', 'BatonEventLoopBlocked']);
/** The error rate has no series while there are no failures. */
const emptyWhenHealthy = new Set(['Error rate']);

const programs = ['/usr/bin/prometheus', '/usr/bin/promtool'];
const missing = programs.find((program) => !existsSync(program));
const skip = missing === undefined ? false : `${missing} is missing: apt-get install prometheus`;
if (skip !== false) console.warn(`SKIPPED: ${skip}`);

let services: SeparateServices;
const urls = () => ({
  'baton-coordination': services.coordinationPort,
  'baton-worker': services.workerMetricsPort,
  'baton-context-adapter': services.adapterMetricsPort,
  'baton-identity': services.identityMetricsPort,
});

before(async () => {
  services = await startSeparateServices('http://127.0.0.1:1');
  const path = `http://127.0.0.1:${services.identityPort}/api/v1/platform-access-tokens:exchange`;
  const exchanged = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: services.adminToken, audience: 'control-plane' }),
  });
  assert.equal(exchanged.status, 200);
});
after(() => services?.close());

test('the rules and the dashboard are read whole', () => {
  assert.equal(alerts.length, readText(rulesFile).match(/- alert:/g)?.length);
  assert.ok(alerts.length >= 10 && panelQueries.length >= 30);
});

test('every metric and every label of a query of the dashboard and of the alerts exists in the metrics of Baton', async () => {
  const exposed = new Map<string, Set<string>>();
  for (const port of Object.values(urls())) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? [^ ]+$/gm)) {
      const known = exposed.get(name) ?? new Set(scrapeLabels);
      for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
      exposed.set(name, known);
    }
  }
  exposed.set(ownMetric, new Set(scrapeLabels));
  const problems: string[] = [];
  for (const { title, expr } of [...panelQueries, ...alerts]) {
    const { selectors, grouping } = queryParts(expr);
    assert.ok(selectors.length > 0, `${title}: no metric was found in ${expr}`);
    for (const { name, labels } of selectors)
      for (const label of ['job', ...labels])
        if (exposed.get(name)?.has(label) !== true) problems.push(`${title}: ${name}{${label}}`);
    for (const label of grouping)
      if (!selectors.some(({ name }) => exposed.get(name)?.has(label)))
        problems.push(`${title}: by ${label}`);
  }
  assert.deepEqual(problems, []);
});

test('the query parser finds names and labels', () => {
  const query = `sum by (a, le) (rate(one_total{b=~"x{}(y)", c!=""}[$__rate_interval])) / on (d) two > 1.5e3 or max(three) unless vector(0)`;
  assert.deepEqual(queryParts(query), {
    selectors: [
      { name: 'one_total', labels: ['b', 'c'] },
      { name: 'two', labels: [] },
      { name: 'three', labels: [] },
    ],
    grouping: ['a', 'le', 'd'],
  });
  assert.deepEqual(metricNamesOf('histogram_quantile(0.9, rate(four_bucket[5m])) offset 1h'), [
    'four_bucket',
  ]);
});

test('docs/operations.md describes what to do for every alert', () => {
  const page = readText(join(projectRoot, 'docs/operations.md'));
  for (const { title } of alerts) assert.match(page, new RegExp(`^\\| \`${title}\` \\| .+ \\|$`, 'm'), title);
  for (const [, named = ''] of page.matchAll(/^\| `(Baton[A-Z]\w+)` \|/gm))
    assert.ok(
      alerts.some(({ title }) => title === named),
      named,
    );
});

test('promtool accepts the rules and the configuration, and each alert is raised when it should be and only then', {
  skip,
}, () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync('/usr/bin/promtool', args, {
      cwd: join(deploy, 'prometheus'),
      encoding: 'utf8',
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
  };
  run('check', 'rules', 'alerts.yml');
  run('check', 'config', 'prometheus.yml');
  run('test', 'rules', 'alerts.test.yml');
  const tests = readText(join(deploy, 'prometheus/alerts.test.yml'));
  for (const { title } of alerts)
    for (const what of ['is raised', 'is not raised'])
      assert.ok(tests.includes(`- name: ${title} ${what}\n`), title);
});

test('a Prometheus that scrapes Baton answers every query of the dashboard, and raises no alert of a healthy Baton', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const folder = join(services.folder, 'prometheus');
  mkdirSync(folder);
  let config = readText(join(deploy, 'prometheus/prometheus.yml')).replaceAll(
    /_interval: 15s/g,
    '_interval: 1s',
  );
  for (const [job, port] of Object.entries(urls())) {
    const target = new RegExp(`(job_name: ${job}\\n(?:.*\\n)*?\\s+- targets: \\[')127\\.0\\.0\\.1:\\d+`);
    assert.match(config, target);
    config = config.replace(target, `$1127.0.0.1:${port}`);
  }
  writeFileSync(join(folder, 'alerts.yml'), readText(rulesFile));
  writeFileSync(join(folder, 'prometheus.yml'), config);
  const address = `127.0.0.1:${await freePort()}`;
  const server = runProgram(
    '/usr/bin/prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    {},
  );
  t.after(() => server.stop());
  const ask = async (path: string): Promise<any> => {
    const answer = await fetch(`http://${address}/api/v1/${path}`, { signal: AbortSignal.timeout(5000) });
    return ((await answer.json()) as { data?: unknown }).data;
  };
  const resultOf = async (expr: string) => {
    const query = expr.replaceAll('$__rate_interval', '1m');
    const { result } = (await ask(`query?query=${encodeURIComponent(query)}`)) ?? assert.fail(expr);
    return result as object[];
  };
  const until = async (holds: () => Promise<boolean>, what: string) => {
    for (const deadline = performance.now() + 60_000; !(await holds().catch(() => false)); await sleep(200))
      assert.ok(performance.now() < deadline, `${what}: ${server.output().slice(-2000)}`);
  };
  await until(async () => (await resultOf('up == 1')).length === 4, 'all four are scraped');
  // A rate needs two scrapes.
  await until(async () => (await resultOf('rate(iam_signature_seconds_count[1m])')).length === 1, 'a rate');
  await until(async () => (await resultOf('rate(claim_takeovers_total[1m])')).length === 3, 'a rate');
  const empty: string[] = [];
  for (const { title, expr } of panelQueries)
    if ((await resultOf(expr)).length === 0 && !emptyWhenHealthy.has(title)) empty.push(`${title}: ${expr}`);
  assert.deepEqual(empty, []);
  await until(async () => {
    const { groups } = await ask('rules');
    return groups[0].rules.every(({ health }: { health: string }) => health === 'ok');
  }, 'every rule is evaluated');
  const { groups } = await ask('rules');
  const raised = groups[0].rules.filter(
    ({ name, state }: { name: string; state: string }) => state !== 'inactive' && !raisedWhenBusy.has(name),
  );
  assert.deepEqual(
    raised.map(({ name }: { name: string }) => name),
    [],
  );
});
