import { type ComponentType, lazy, Suspense } from 'react';
import type { Task } from '@baton/sdk';
import { PlainText } from '../markdown/PlainText.tsx';
import { commitAddressOf } from '../markdown/repository.ts';

/** If the parser can't be loaded, for example because a newer console replaced its file, the text is unformatted. */
const MarkdownView = lazy<ComponentType<ViewProps>>(() =>
  import('../markdown/MarkdownView.tsx').catch(() => ({ default: PlainText })),
);

interface ViewProps {
  readonly text: string;
  readonly commitAddress: string | undefined;
}

interface ProseProps {
  /** Untrusted text. */
  readonly text: string;
  /** The task that the text is about. Its evidence identifies the repository of the commits in the text. */
  readonly task?: Pick<Task, 'evidence'>;
  readonly isSoft?: boolean;
}

/** Text by people and agents, rendered as Markdown. Shown without formatting until the parser has loaded. */
export function Prose({ text, task, isSoft = false }: ProseProps) {
  return (
    <div className={isSoft ? 'soft' : undefined} dir="auto">
      <Suspense fallback={<PlainText text={text} />}>
        <MarkdownView text={text} commitAddress={task && commitAddressOf(task)} />
      </Suspense>
    </div>
  );
}
