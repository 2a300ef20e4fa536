import { useQuery } from '@tanstack/react-query';
import type { Task, TaskVerification } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import styles from './task.module.css';

type Result = TaskVerification['results'][number];
type Evidence = Task['evidence'][number];

const evidenceMax = 50;

/** The acceptance checks of the task, the results of the last verification, and the evidence. */
export function Checks({ task }: { task: Task }) {
  const query = useQuery({
    queryKey: ['tasks', 'verifications', task.id, task.verification?.updatedAt],
    queryFn: ({ signal }) =>
      baton.tasks.listVerifications(task.id, { limit: 1 }, { signal }).then(({ items }) => items[0] ?? null),
    enabled: task.verification !== null,
  });
  if (task.acceptance.length === 0 && task.verification === null && task.evidence.length === 0) return null;
  const last = query.data ?? undefined;
  const results = new Map(last?.results.map((result) => [result.key, result]));
  // The checks of the task type and of its outputs are listed only in the verification.
  const checks = [
    ...task.acceptance,
    ...(last?.checks ?? []).filter(({ key }) => !task.acceptance.some((own) => own.key === key)),
  ];
  const loose = task.evidence.filter(({ check }) => !checks.some(({ key }) => key === check));
  return (
    <section className="card stack" aria-labelledby="checks">
      <h2 id="checks">Acceptance checks</h2>
      {query.isError && query.data === undefined && <ErrorNote error={query.error} />}
      <ul className="stack">
        {checks.map(({ key, kind, description }) => (
          <li key={key} className={styles.check}>
            <p className="text">
              {description || key} <span className="soft">({kind.replaceAll('_', ' ')})</span>
            </p>
            <Outcome result={results.get(key)} />
            <EvidenceList evidence={task.evidence.filter(({ check }) => check === key)} />
          </li>
        ))}
      </ul>
      {loose.length > 0 && (
        <>
          <h3>Evidence</h3>
          <EvidenceList evidence={loose} />
        </>
      )}
      {last !== undefined && (
        <p className="soft">
          Verification {last.attempt} {last.finishedAt === null ? 'started' : 'finished'}{' '}
          <Moment at={last.finishedAt ?? last.startedAt} />: {last.status.replaceAll('_', ' ')}.
        </p>
      )}
    </section>
  );
}

const reasons: Readonly<Record<string, string>> = {
  not_a_prover: 'the evidence is from a principal who is not an accepted prover',
};

function Outcome({ result }: { result: Result | undefined }) {
  if (result === undefined) return <p className="soft">pending</p>;
  const { status, reason, message } = result;
  return (
    <p className={styles[status] ?? 'soft'}>
      {status}
      {(message ?? reason) && <span className="text">: {message ?? reasons[reason ?? ''] ?? reason}</span>}
    </p>
  );
}

function EvidenceList({ evidence }: { evidence: readonly Evidence[] }) {
  if (evidence.length === 0) return null;
  return (
    <ul className={`stack ${styles.remedy}`}>
      {evidence.slice(0, evidenceMax).map((one) => (
        <li key={nameOf(one)} className="text">
          <span className="soft">{one.kind.replaceAll('_', ' ')}</span> <EvidenceName evidence={one} />
          {one.note && <span className="soft">: {one.note}</span>}
        </li>
      ))}
    </ul>
  );
}

function nameOf(one: Evidence): string {
  if (one.kind === 'artifact') return one.artifactId;
  if (one.kind === 'observation') return one.observationId;
  if (one.kind === 'context_pack') return one.contextPackId;
  return `${one.externalRef.system} ${one.externalRef.id}`;
}

function EvidenceName({ evidence }: { evidence: Evidence }) {
  const artifactId = evidence.kind === 'artifact' ? evidence.artifactId : undefined;
  const { data } = useQuery({
    queryKey: ['artifacts', artifactId],
    queryFn: ({ signal }) => baton.artifacts.get(artifactId ?? '', {}, { signal }),
    enabled: artifactId !== undefined,
  });
  const url = evidence.kind === 'external' ? evidence.externalRef.url : undefined;
  // The URL is user input, so only HTTP addresses become links.
  if (url && /^https?:\/\//.test(url))
    return (
      <a href={url} rel="noreferrer noopener" target="_blank">
        {nameOf(evidence)}
      </a>
    );
  return data === undefined ? <span className="mono">{nameOf(evidence)}</span> : <>{data.name}</>;
}
