import type { ReactNode } from 'react';
import { type ApprovalSubject, revealHidden, type SubjectChange } from '@baton/sdk';
import { Who } from '../parts/Who.tsx';
import { Actions } from './Actions.tsx';
import styles from './approval.module.css';
import { answers, dateText, isChangedAt, labelField, valueText } from './subject-labels.ts';

type Snapshot = ApprovalSubject['snapshot'];

interface SubjectProps {
  readonly snapshot: Snapshot;
  /** Changed values, to be marked. */
  readonly changes: readonly SubjectChange[];
  readonly title: string;
}

/** The subject of a decision in full: the task, the artifact, and the follow-up actions of either decision. */
export function Subject({ snapshot, changes, title }: SubjectProps) {
  const { task, artifact, outcome } = snapshot;
  return (
    <section className="stack" aria-label={title}>
      <h2>{title}</h2>
      {task === null && artifact === null && (
        <p className="soft">No task and no artifact, only the request above.</p>
      )}
      <dl className={styles.facts}>
        {task !== null && <TaskFacts task={task} changes={changes} />}
        {artifact !== null && (
          <Fact name="Artifact" isChanged={isChangedAt(changes, 'artifact')}>
            {revealHidden(artifact.name)} <span className="soft">({revealHidden(artifact.type)})</span>
            {artifact.digest !== null && (
              <span className={`mono soft ${styles.digest}`}>{artifact.digest}</span>
            )}
          </Fact>
        )}
      </dl>
      {outcome !== null && (
        <div className={styles.answers}>
          <Actions
            title={answers.approved}
            actions={outcome.approved}
            isChanged={isChangedAt(changes, 'outcome', 'approved')}
          />
          <Actions
            title={answers.rejected}
            actions={outcome.rejected}
            isChanged={isChangedAt(changes, 'outcome', 'rejected')}
          />
        </div>
      )}
    </section>
  );
}

type TaskSnapshot = NonNullable<Snapshot['task']>;

function TaskFacts({ task, changes }: { task: TaskSnapshot; changes: readonly SubjectChange[] }) {
  const { title, description, typeKey, typeVersion, priority, customFields, acceptance } = task;
  const isChanged = (...path: readonly string[]) => isChangedAt(changes, 'task', ...path);
  return (
    <>
      <Fact name={labelField('title')} isChanged={isChanged('title')}>
        {revealHidden(title)}
      </Fact>
      {(description !== '' || isChanged('description')) && (
        <Fact name={labelField('description')} isChanged={isChanged('description')}>
          {description === '' ? <span className="soft">empty</span> : revealHidden(description)}
        </Fact>
      )}
      <Fact name={labelField('typeKey')} isChanged={isChanged('typeKey') || isChanged('typeVersion')}>
        {revealHidden(typeKey)} <span className="soft">version {typeVersion}</span>
      </Fact>
      <Fact name={labelField('priority')} isChanged={isChanged('priority')}>
        {priority}
      </Fact>
      {(['startDate', 'dueDate'] as const).map((name) => {
        const at = task[name];
        if (at === null && !isChanged(name)) return null;
        return (
          <Fact key={name} name={labelField(name)} isChanged={isChanged(name)}>
            {at === null ? <span className="soft">not set</span> : <time dateTime={at}>{dateText(at)}</time>}
          </Fact>
        );
      })}
      {Object.entries(customFields).map(([name, value]) => (
        <Fact key={name} name="Field" ownName={name} isChanged={isChanged('customFields', name)}>
          {value === '' ? <span className="soft">empty</span> : revealHidden(valueText(value))}
        </Fact>
      ))}
      {acceptance.map((check) => (
        <Fact
          key={check.key}
          name={labelField('acceptance')}
          ownName={check.key}
          isChanged={isChanged('acceptance', check.key)}
        >
          {revealHidden(check.description || check.key)}{' '}
          <span className="soft">
            ({check.kind.replaceAll('_', ' ')}
            <AddedBy check={check} />)
          </span>
          <CheckDetails check={check} />
        </Fact>
      ))}
    </>
  );
}

type Check = Readonly<Record<string, unknown>>;

/** The principal who added a check. Only they, or a person, may change it. */
function AddedBy({ check: { addedByPrincipalId: id } }: { readonly check: Check }) {
  if (typeof id !== 'string') return null;
  return (
    <>
      , added by <Who id={id} />
    </>
  );
}

/** The details of a check: its spec, and when it applies. */
function CheckDetails({ check }: { readonly check: Check }) {
  const { key: _key, kind: _kind, description: _description, addedByPrincipalId: _by, ...details } = check;
  const given = Object.fromEntries(Object.entries(details).filter(([, value]) => value != null));
  if (Object.keys(given).length === 0) return null;
  return <span className={`mono soft ${styles.digest}`}>{revealHidden(valueText(given))}</span>;
}

interface FactProps {
  readonly name: string;
  /** The user-defined name. */
  readonly ownName?: string;
  readonly isChanged: boolean;
  readonly children: ReactNode;
}

function Fact({ name, ownName, isChanged, children }: FactProps) {
  return (
    <div className={`${styles.fact} ${isChanged ? styles.isChanged : ''}`}>
      <dt>
        {name} {ownName !== undefined && <span className={styles.name}>{revealHidden(ownName)}</span>}
        {isChanged && (
          <>
            {' '}
            <span className={styles.badge}>changed</span>
          </>
        )}
      </dt>
      <dd className="text">{children}</dd>
    </div>
  );
}
