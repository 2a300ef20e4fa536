import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Task } from '@baton/sdk';
import { isId } from '../journal/journal-search.ts';
import { nameQuery } from '../journal/sentences/names.ts';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import { workspaceQuery } from '../queries.ts';
import { serverNow } from '../server-clock.ts';
import styles from './task.module.css';

/** The fields of a task that have a value: workspace, project, dates, creator and custom fields. */
export function Facts({ task }: { task: Task }) {
  return (
    <section className="card stack" aria-labelledby="fields">
      <h2 id="fields">Details</h2>
      <dl className={styles.facts}>
        {task.workspaceId !== null && (
          <Fact name="Workspace">
            <WorkspaceLink id={task.workspaceId} />
          </Fact>
        )}
        {task.projectId !== null && (
          <Fact name="Project">
            <Link to="/projects/$id" params={{ id: task.projectId }}>
              Open project
            </Link>
          </Fact>
        )}
        {task.ownerId !== null && (
          <Fact name="Owner">
            <Who id={task.ownerId} />
          </Fact>
        )}
        {task.startDate !== null && (
          <Fact name="Starts">
            <Moment at={task.startDate} />
          </Fact>
        )}
        {task.availableAt !== null && isComing(task.availableAt) && (
          <Fact name="Available">
            <Moment at={task.availableAt} />
          </Fact>
        )}
        {task.dueDate !== null && (
          <Fact name="Due">
            <Moment at={task.dueDate} />
          </Fact>
        )}
        <Origin task={task} />
        <Fact name="Created by">
          <Who id={task.createdBy} />{' '}
          <span className="soft">
            <Moment at={task.createdAt} />
          </span>
        </Fact>
        {Object.entries(task.customFields).map(([name, value]) => (
          <Fact key={name} name={name}>
            <span className="text">{formatValue(value)}</span>
          </Fact>
        ))}
      </dl>
    </section>
  );
}

/** A link to the process or the rule that created the task. */
function Origin({ task: { origin } }: { readonly task: Task }) {
  const { kind, ref, ruleId } = origin;
  const [, instanceId, element] = /^process\/([\da-f-]{36})(?:\/(.{1,200}))?$/.exec(ref ?? '') ?? [];
  if (kind === 'process' && instanceId !== undefined)
    return (
      <Fact name="Origin">
        <Link to="/processes/$id" params={{ id: instanceId }}>
          Process <NameOf type="process_instance" id={instanceId} />
        </Link>
        {element !== undefined && <span className="soft">, step {element}</span>}
      </Fact>
    );
  if (kind === 'rule' && ruleId != null && isId(ruleId))
    return (
      <Fact name="Origin">
        <Link to="/journal" search={{ object: ruleId }}>
          Rule <NameOf type="rule" id={ruleId} />
        </Link>
      </Fact>
    );
  return null;
}

function NameOf({ type, id }: { readonly type: string; readonly id: string }) {
  return <>{useQuery(nameQuery(type, id)).data || id.slice(-8)}</>;
}

/** Whether an instant is in the future. Year 9999 means no date. */
const isComing = (at: string): boolean => at < '9999' && Date.parse(at) > serverNow();

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/**
 * A link to the tasks of a workspace, labelled with its name, or with the end of its id if the name is not readable.
 */
function WorkspaceLink({ id }: { readonly id: string }) {
  const { data } = useQuery(workspaceQuery(id));
  return (
    <Link to="/" search={{ workspace: id }}>
      {data?.name ?? id.slice(-8)}
    </Link>
  );
}

function formatValue(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
