import { withoutMentionIds } from '../../work/tasks/mentions/mention-text.ts';
import type { Notice } from '../notices/notice.ts';
import { oneLine, severalLines } from './plain-text.ts';

const titleCharactersMax = 120;
const nameCharactersMax = 80;
const questionCharactersMax = 1000;

/** The texts of a notice, bounded, and without characters that could change the text around them. Not escaped. */
export interface NoticeText {
  /** "Decision requested: Ship the release (TASK-000017)". */
  readonly subject: string;
  /** "Build agent requests your decision." */
  readonly sentence: string;
  readonly question: string;
  /** "Open the decision". */
  readonly action: string;
  readonly url: string;
}

/**
 * @param publicUrl the address of the console, without a trailing slash
 */
export function textOfNotice(notice: Notice, publicUrl: string): NoticeText {
  const { kind, entityId, taskPublicId, taskTitle, actorName } = notice;
  const name = actorName === null ? '' : oneLine(actorName, nameCharactersMax);
  const title = taskTitle === null ? '' : `${oneLine(taskTitle, titleCharactersMax)} (${taskPublicId})`;
  const question = severalLines(notice.question ?? '', questionCharactersMax);
  const taskUrl = `${publicUrl}/tasks/${taskPublicId}`;
  if (kind === 'decision.requested') {
    const about = title || oneLine(question, titleCharactersMax) || 'approval';
    return {
      subject: `Decision requested: ${about}`,
      sentence: `${name || 'Baton'} requests your decision${title && ` about ${title}`}.`,
      question,
      action: 'Open the decision',
      url: `${publicUrl}/approvals/${entityId}`,
    };
  }
  if (kind === 'task.assigned')
    return {
      subject: `Task assigned: ${title}`,
      sentence: name === '' ? `You are assigned to ${title}.` : `${name} assigned ${title} to you.`,
      question: '',
      action: 'Open the task',
      url: taskUrl,
    };
  if (kind === 'mention') {
    const place = notice.question === null ? 'in the description of' : 'in a comment on';
    return {
      subject: `Mentioned: ${title}`,
      sentence: `${name || 'Somebody'} mentioned you ${place} ${title}.`,
      question: severalLines(withoutMentionIds(notice.question ?? ''), questionCharactersMax),
      action: 'Open the task',
      url: taskUrl,
    };
  }
  return {
    subject: `Control message: ${title}`,
    sentence: `${name || 'Baton'} sent a control message to your run of ${title}.`,
    question: '',
    action: 'Open the task',
    url: taskUrl,
  };
}
