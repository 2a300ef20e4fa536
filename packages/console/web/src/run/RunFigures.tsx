import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Run } from '@baton/sdk';
import { costs, duration, money, short } from '../parts/amounts.ts';
import { serverNow } from '../server-clock.ts';
import { runMs } from './result-facts.ts';
import styles from './run.module.css';
import { actionsQuery, checkpointsQuery } from './run-queries.ts';

/** Duration, checkpoints, actions, tokens and cost of a run, each with its limit if it has one. */
export function RunFigures({ run }: { readonly run: Run }) {
  const now = useNow(run.status === 'running');
  const actions = useQuery(actionsQuery(run)).data;
  const checkpoints = useQuery(checkpointsQuery(run.id)).data;
  const { maxDurationSeconds, maxActions, maxTokens, maxCostMicros, currency, usage } = run;
  const tokens = usage.inputTokens + usage.outputTokens;
  const count = (list: { items: readonly unknown[]; isCut: boolean } | undefined) =>
    list === undefined ? '…' : `${list.items.length.toLocaleString('en')}${list.isCut ? '+' : ''}`;
  return (
    <dl className={styles.figures} aria-label="Figures">
      <Figure
        name="Duration"
        value={duration(runMs(run, now))}
        limit={maxDurationSeconds === null ? undefined : duration(maxDurationSeconds * 1000)}
      />
      <Figure name="Checkpoints" value={count(checkpoints)} />
      <Figure name="Actions" value={count(actions)} limit={maxActions?.toLocaleString('en')} />
      <Figure
        name="Tokens"
        value={short(tokens)}
        limit={maxTokens === null ? undefined : short(maxTokens)}
        title={`${usage.inputTokens.toLocaleString('en')} in, ${usage.outputTokens.toLocaleString('en')} out`}
      />
      <Figure
        name="Cost"
        value={costs(usage) ?? '–'}
        limit={maxCostMicros === null ? undefined : money(maxCostMicros, currency ?? '')}
      />
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly limit?: string | undefined;
  readonly title?: string;
}

function Figure({ name, value, limit, title }: FigureProps) {
  return (
    <div className={styles.figure}>
      <dt className="soft">{name}</dt>
      <dd title={title}>
        <strong>{value}</strong>
        {limit !== undefined && <span className="soft"> of {limit}</span>}
      </dd>
    </div>
  );
}

/** The time by Baton's clock, updated every second while the run is running. */
function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(serverNow()), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}
