import { useQuery } from '@tanstack/react-query';
import { revealHidden, type Task, type TaskVerification } from '@baton/sdk';
import { baton } from '../../client.ts';
import { lookup } from '../../journal/sentences/sentence.ts';
import { OutsideLink } from '../../markdown/OutsideLink.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { ErrorNote } from '../../parts/Notes.tsx';
import { Who } from '../../parts/Who.tsx';
import { webAddress } from '../../run/result-facts.ts';
import styles from './checks.module.css';
import { Prover } from './Prover.tsx';

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
  // Only the verification lists the checks of the task type and of its outputs.
  const checks = [
    ...task.acceptance,
    ...(last?.checks ?? []).filter(({ key }) => !task.acceptance.some((own) => own.key === key)),
  ];
  const loose = task.evidence.filter(({ check }) => !checks.some(({ key }) => key === check));
  return (
    <section className="card stack" aria-labelledby="checks">
      <div className={styles.head}>
        <h2 id="checks">Acceptance checks</h2>
        {checks.length > 0 && last !== undefined && (
          <span className="soft">
            {checks.filter(({ key }) => results.get(key)?.status === 'passed').length} of {checks.length}{' '}
            passed
          </span>
        )}
      </div>
      {query.isError && query.data === undefined && <ErrorNote error={query.error} />}
      <ul className={styles.checks}>
        {checks.map((check) => (
          <Check
            key={check.key}
            check={check}
            result={results.get(check.key)}
            evidence={task.evidence.filter(({ check: of }) => of === check.key)}
          />
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

/** How a check is decided. */
const ways: Readonly<Record<Result['kind'], string>> = {
  deterministic: 'checked by Baton',
  external_state: 'reported by another system',
  human: 'decided by a person',
  llm_judge: 'assessed by a model',
};
const verdicts: Readonly<Record<Result['status'], readonly [string, string]>> = {
  passed: ['✓', 'passed'],
  failed: ['✕', 'failed'],
  cancelled: ['–', 'cancelled'],
  skipped: ['–', 'skipped'],
  waiting: ['◌', 'waiting'],
};
const reasons: Readonly<Record<string, string>> = {
  not_a_prover: 'the evidence is from a principal who is not an accepted prover',
  no_result: 'no result arrived in time',
  condition_unmet: 'its condition does not apply',
  approval_rejected: 'the approval was rejected',
  approval_cancelled: 'the approval was withdrawn',
  no_approver: 'nobody is allowed to decide it',
  artifact_missing: 'the artifact is missing',
  artifact_media_type: 'the artifact has the wrong media type',
  artifact_content_missing: 'the artifact has no content',
};

interface CheckProps {
  readonly check: Pick<Result, 'key' | 'kind'> & { readonly description: string };
  readonly result: Result | undefined;
  readonly evidence: readonly Evidence[];
}

/** One check: its verdict, its prover, its kind and its evidence. */
function Check({ check: { key, kind, description }, result, evidence }: CheckProps) {
  const [mark, verdict] = result === undefined ? ['○', 'pending'] : verdicts[result.status];
  const why =
    result?.message ??
    (result?.reason && (lookup(reasons, result.reason) ?? result.reason.replaceAll('_', ' ')));
  return (
    <li className={styles.check}>
      <span className={`${styles.mark} ${styles[verdict] ?? ''}`} aria-hidden="true">
        {mark}
      </span>
      <div className={styles.about}>
        <p className="text">{revealHidden(description || key)}</p>
        <p className="soft">
          <span className={styles[verdict]}>{verdict}</span>
          {why && <span className="text">: {revealHidden(why)}</span>} · {ways[kind]}
          {result?.evidence.map((one) => (
            <Prover key={one} evidence={one} />
          ))}
        </p>
        <EvidenceList evidence={evidence} />
      </div>
    </li>
  );
}

function EvidenceList({ evidence }: { evidence: readonly Evidence[] }) {
  if (evidence.length === 0) return null;
  return (
    <ul className={`stack ${styles.evidence}`}>
      {evidence.slice(0, evidenceMax).map((one) => (
        <li key={nameOf(one)} className="text">
          <span className="soft">{one.kind.replaceAll('_', ' ')}</span> <EvidenceName evidence={one} />
          {one.note && <span className="soft">: {revealHidden(one.note)}</span>}
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
  // The URL is user input, so only HTTP addresses become links.
  const url = evidence.kind === 'external' ? webAddress(evidence.externalRef.url) : undefined;
  const name = revealHidden(nameOf(evidence));
  if (url !== undefined) return <OutsideLink url={new URL(url)} text={name} />;
  if (data === undefined) return <span className="mono">{name}</span>;
  return (
    <>
      {revealHidden(data.name)}{' '}
      <span className="soft">
        by <Who id={data.createdByPrincipalId} />
      </span>
    </>
  );
}
