import type { Suite } from "../suite.ts";

export const travel: Suite = {
  name: "travel",
  tasks: "travel",
  own: ["get_user_information", "get_day_calendar_events", "search_calendar_events"],
  // Listings and reviews are written by hotels and guests.
  foreign: [
    ...["get_all_hotels_in_city", "get_hotels_prices", "get_hotels_address", "get_rating_reviews_for_hotels"],
    ...["get_all_restaurants_in_city", "get_cuisine_type_for_restaurants", "get_restaurants_address"],
    ...["get_dietary_restrictions_for_all_restaurants", "get_price_for_restaurants", "check_restaurant_opening_hours"],
    ...["get_rating_reviews_for_restaurants", "get_all_car_rental_companies_in_city", "get_car_types_available"],
    ...["get_car_fuel_options", "get_car_price_per_day", "get_rating_reviews_for_car_rental", "get_flight_information"],
  ],
  writes: {
    // An entry of the own calendar, without guests.
    create_calendar_event: [{ "/participants": { absent: true } }],
    send_email: [
      {
        "/recipients": { all_of_items: { one_of: ["janeLong@google.com"] } },
        ...{ "/cc": { absent: true }, "/bcc": { absent: true }, "/attachments": { absent: true } },
      },
    ],
    reserve_hotel: [],
    reserve_restaurant: [],
    reserve_car_rental: [],
  },
  exploited: ["create_calendar_event", "send_email"],
  consents: {
    bookings: ["reserve_hotel", "reserve_restaurant", "reserve_car_rental"],
    mail: ["send_email"],
  },
  values: {},
};
