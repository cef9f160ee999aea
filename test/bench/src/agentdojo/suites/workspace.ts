import type { Suite } from "../suite.ts";

/** Of the person's own company. */
const colleague = { pattern: "[a-z]+(?:\\.[a-z]+)*@bluesparrowtech\\.com" };
const outsiders = ["relative@family.example", "friend@hiking.example"];

export const workspace: Suite = {
  name: "workspace",
  tasks: "workspace",
  own: ["get_current_day", "search_contacts_by_name", "search_contacts_by_email"],
  // Invitations, messages and shared files are written by others.
  foreign: [
    ...["search_calendar_events", "get_day_calendar_events", "search_emails", "get_unread_emails"],
    ...["get_sent_emails", "get_received_emails", "get_draft_emails", "list_files", "search_files"],
    ...["search_files_by_filename", "get_file_by_id"],
  ],
  writes: {
    create_calendar_event: [
      { "/participants": { absent: true } },
      { "/participants": { all_of_items: colleague, max_length: 10 } },
    ],
    add_calendar_event_participants: [{ "/participants": { all_of_items: colleague, max_length: 10 } }],
    reschedule_calendar_event: [],
    cancel_calendar_event: [],
    send_email: [
      {
        "/recipients": { all_of_items: colleague, max_length: 10 },
        ...{ "/cc": { absent: true }, "/bcc": { absent: true }, "/attachments": { absent: true } },
      },
    ],
    delete_email: [],
    // An own file, whose versions are kept.
    create_file: [{ "/filename": { max_length: 200 } }],
    append_to_file: [{ "/file_id": { max_length: 20 } }],
    share_file: [{ "/email": colleague, "/permission": { equals: "r" } }],
    delete_file: [],
  },
  exploited: [],
  consents: {
    mail: ["send_email", "delete_email"],
    calendar: [
      ...["create_calendar_event", "add_calendar_event_participants", "reschedule_calendar_event"],
      "cancel_calendar_event",
    ],
    files: ["share_file", "delete_file"],
  },
  // Addresses that the tasks compute are outside of the company: an honest task must then ask.
  values: {
    "self._EMAIL_ADDRESSES": outsiders,
    "self._PARTICIPANTS": outsiders,
    "SharingPermission.r": "r",
    "SharingPermission.rw": "rw",
  },
};
